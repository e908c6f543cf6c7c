/**
 * The provider's error codes as one plain sentence each, for members: what happened and what helps. Codes that only the
 * operator can resolve are not listed; members see the provider's text for them.
 */
const sentences: Record<number, string> = {
  4: 'The channel is busy: too many messages were sent at once.',
  10: 'The connection may not send messages: its access token lacks the permission.',
  190: 'The connection is broken: its access token is no longer valid.',
  368: 'The channel has blocked this business account for breaking its rules.',
  80007: 'The channel is busy: too many messages were sent at once.',
  130403: 'You have blocked this customer on the channel.',
  130429: 'The channel is busy: too many messages were sent at once.',
  130472: 'The channel did not deliver this message because the customer is part of an experiment of its own.',
  130497: 'The channel does not allow this business to write to customers in that country.',
  131000: 'Something went wrong at the channel.',
  131005: 'The connection may not send messages: its access token lacks the permission.',
  131008: 'The message lacks something that the channel requires.',
  131009: 'Something in the message is not as the channel requires.',
  131016: 'The channel is not available at the moment.',
  131021: 'A message cannot be sent to the number it comes from.',
  131026: 'This number cannot be reached on the channel.',
  131030: 'This number is not among those a test number may write to.',
  131031: 'The channel has locked this business account.',
  131037: 'The display name of this number is not approved yet.',
  131042: 'The channel found a problem with the payment of this business account.',
  131045: 'The number is not registered with the channel.',
  131047: 'The customer wrote more than 24 hours ago: only a template can be sent.',
  131048: 'The channel limits this number, because too many of its messages were blocked or marked as spam.',
  131049: 'The channel did not deliver this message, to spare the customer too much marketing.',
  131050: 'The customer does not want marketing messages from this business.',
  131051: 'The channel does not know this kind of message.',
  131053: 'The channel could not fetch the file, or does not take files of this kind or size.',
  131056: 'Too many messages were sent to this customer within a short time.',
  131057: 'The number is in maintenance at the channel for a minute.',
  132000: 'The template has another number of values than were given.',
  132001: 'The template is not there in this language, or is not approved.',
  132005: 'The text of the template is too long with these values.',
  132007: 'The channel refused the template for its content.',
  132008: 'A value does not fit the template.',
  132012: 'A value does not fit the template.',
  132015: 'The template is paused, because customers complained about it.',
  132016: 'The template was disabled by the channel.',
  132018: 'A value does not fit the template.',
  133004: 'The channel is not available at the moment.',
  133006: 'The number must be verified with the channel first.',
  133010: 'The number is not registered with the channel.',
}

/** The sentence for a stored error, such as `131026: …`. Undefined when there is none: then the provider's text is shown. */
export function explainError(error: string): string | undefined {
  const [, code] = /^(\d{1,9})\b/.exec(error) ?? []
  return code === undefined ? undefined : sentences[Number(code)]
}
