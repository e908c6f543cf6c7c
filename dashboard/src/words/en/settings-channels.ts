const verifyTokenHint =
  'The provider sends this token when it verifies the callback URL. Set it only if you need a specific value.'
const baseUrlHint = 'Set this only if you reach the provider through your own URL.'
const apiVersionHint = 'Leave empty to use the default version.'

/** Channel settings. The hints name each menu of the provider's console, for members who use it for the first time. */
export const channels = {
  title: 'Channels',
  lead: 'Connect the channels where your customers write to you.',
  abouts: {
    msgapp: 'Messages with phone numbers, templates and broadcasts.',
    social: 'Direct messages with your social media account.',
    web: 'A chat widget on your website.',
  },
  states: { connected: 'Connected', failing: 'Needs attention', unchecked: 'Not checked yet' },
  notConnected: 'Not connected',
  simulator: 'Simulator',
  simulated: 'Connected to the simulator. No messages leave this machine, and you can write as a customer.',
  openSimulator: 'Open simulator',
  connect: 'Connect',
  connectOwn: 'Connect your own account',
  connectWeb: 'Enable web chat',
  configure: 'Configure',
  checkAgain: 'Check connection',
  disconnect: 'Disconnect',
  connected: (channel: string) => `${channel} connected`,
  disconnected: (channel: string) => `${channel} disconnected`,
  disconnectTitle: (channel: string) => `Disconnect ${channel}?`,
  /** One of several. */
  disconnectOneTitle: (connection: string) => `Disconnect “${connection}”?`,
  disconnectTexts: {
    msgapp:
      'You can no longer send or receive messages with this number, and its running broadcasts stop. Conversations and contacts are kept, but you cannot reply to these conversations. To reconnect, you need the access token and the app secret.',
    social:
      'You can no longer send or receive messages with this account. Conversations and contacts are kept, but you cannot reply to these conversations. To reconnect, you need the access token and the app secret.',
    web: 'The chat widget on this website stops working. Conversations and contacts are kept, but you cannot reply to these conversations. If you reconnect and the site ID has changed, replace the code on your website.',
  },
  nextDefault: (name: string) => `“${name}” becomes the default. New conversations will use it.`,
  default: 'Default',
  makeDefault: 'Make default',
  makeDefaultTitle: (name: string) => `Make “${name}” the default?`,
  makeDefaultTexts: {
    msgapp: 'New conversations will use it. Existing conversations keep their number.',
    social: 'New conversations will use it. Existing conversations keep their account.',
    web: 'New conversations will use it. Existing conversations keep their website.',
  },
  isDefault: (name: string) => `“${name}” is the default now`,
  rename: 'Rename',
  renameOf: (name: string) => `Rename ${name}`,
  name: 'Name',
  nameHint: 'Members see it in the inbox. Each connection has its own name.',
  host: 'Website',
  hostExample: 'shop.example',
  hostHint: 'The host, for members only. Any website can show the chat unless you limit it under allowed websites.',
  another: {
    msgapp: 'Connect another number',
    social: 'Connect another account',
    web: 'Connect another site',
  },
  anotherTexts: {
    msgapp:
      'The default number stays as it is. Customers who write to the new number get a conversation of their own. A second number of the same app needs an override of the callback URL at the provider: step 2 describes it.',
    social:
      'The default account stays as it is. Customers who write to the new account get a conversation of their own.',
    web: 'The new site has its own code, appearance and allowed websites. Its visitors do not see messages of other sites.',
  },
  quality: 'Quality',
  qualities: {
    none: 'No notices',
    info: 'Notice from the provider',
    warning: 'Warning from the provider',
    restriction: 'Restricted by the provider',
  },
  signals: {
    label: 'Notices from the provider',
    reported: 'Reported',
    ends: (at: string) => `Ends ${at}.`,
    dismiss: 'Dismiss',
  },
  lastCheck: 'Last check',
  lastReport: 'Last callback',
  rate: 'Sending rate',
  perSecond: (number: string) => `${number} per second`,
  rateLabel: 'Messages per second',
  rateHint:
    'The maximum rate of broadcasts. The default is 80. Use a higher rate only if the provider raised the limit of your number.',
  fields: {
    account_id: {
      label: 'Account ID',
      placeholder: '102290129340398',
      hints: {
        msgapp:
          'The ID of your business account, digits only. In the provider’s developer console, open your app, then the messaging product, then API setup. Copy “Business account ID”.',
        social:
          'The ID of your professional account, digits only. In the provider’s developer console, open your app, then the direct-message product, then API setup. The ID is below the account name.',
      },
    },
    phone_number_id: {
      label: 'Phone number ID',
      placeholder: '106540352242922',
      hints: {
        msgapp:
          'Not the phone number itself. On the same page, copy “Phone number ID” below the number you send from. Connect each number of the account by itself. Messages to a number that is not connected are not received.',
        social: '',
      },
    },
    access_token: {
      label: 'Access token',
      placeholder: '',
      hints: {
        msgapp:
          'Allows Parley to send messages. In the business settings, under System users, select a user, click “Generate token” and grant the permissions to manage and send messages. The token on the API setup page also works, but expires after 24 hours.',
        social: 'Allows Parley to send messages. On the same page, click “Generate token” next to the account.',
      },
    },
    app_secret: {
      label: 'App secret',
      placeholder: '',
      hints: {
        msgapp:
          'Verifies that callbacks come from the provider. In the console, open App settings, then Basic, and click “Show” next to “App secret”.',
        social:
          'Verifies that callbacks come from the provider. On the API setup page of the direct-message product, copy “App secret”.',
      },
    },
    verify_token: {
      label: 'Verify token',
      placeholder: 'Generated automatically',
      hints: {
        msgapp: verifyTokenHint,
        social: verifyTokenHint,
      },
    },
    base_url: {
      label: 'Provider URL',
      placeholder: 'https://graph.…',
      hints: {
        msgapp: baseUrlHint,
        social: baseUrlHint,
      },
    },
    api_version: {
      label: 'API version',
      placeholder: 'v25.0',
      hints: {
        msgapp: apiVersionHint,
        social: apiVersionHint,
      },
    },
  },
  guide: {
    titles: { msgapp: 'Connect the messaging app', social: 'Connect social' },
    lead: 'Three steps, about ten minutes. You need access to the provider’s developer console.',
    replaces: 'This channel is connected to the simulator. Saving your own account replaces it.',
    locked: 'Complete the previous step first',
    needs: 'Enter your credentials',
    needsTexts: {
      msgapp: 'Copy four values from the provider’s developer console.',
      social: 'Copy three values from the provider’s developer console.',
    },
    kept: 'Saved. Leave empty to keep the current value.',
    advanced: 'Advanced settings',
    save: 'Save and continue',
    saveAgain: 'Save changes',
    replace: 'Replace',
    replaceTitle: (name: string) => `Replace the secrets of “${name}”?`,
    replaceText:
      'Messages use the new values at once, and the old ones are deleted. Then Parley checks the connection.',
    callback: 'Configure the callback',
    callbackSteps: {
      msgapp: [
        'In the console, open your app, then the messaging product, then Configuration.',
        'Next to “Webhook”, click “Edit”, paste both values below and click “Verify and save”.',
        'Subscribe to the fields listed below.',
      ],
      social: [
        'In the console, open your app, then the direct-message product, then API setup.',
        'Under “Configure webhooks”, paste both values below and click “Verify and save”.',
        'Subscribe to the fields listed below, and turn on “Webhook subscription” next to the account.',
      ],
    },
    override: {
      msgapp:
        'An app has one callback URL for all its numbers. If another number uses the same app, keep the URL of the app. Instead, override the callback URL for this phone number at the provider, with both values below. The guide docs/numbers.md has the call.',
      social:
        'An app has one callback URL for all its accounts. If another account uses the same app, give this account an app of its own.',
    },
    callbackUrl: 'Callback URL',
    copyCallbackUrl: 'Copy callback URL',
    verifyToken: 'Verify token',
    copyVerifyToken: 'Copy verify token',
    subscribe: 'Fields to subscribe to',
    received: 'Callback working. Last callback received',
    verified: 'Callback URL verified by the provider',
    nothingReceived: 'No callbacks received yet. To test, send a message to your number or account.',
    notVerified: 'Waiting for the provider to verify the callback URL. This page updates automatically.',
    notPublic:
      'The provider can only call public https URLs, and this one is not. The operator of this Parley server must set PUBLIC_URL to the public URL.',
    check: 'Check the connection',
    checkText: 'Parley tests each value with the provider and shows what to fix.',
    checkNow: 'Check connection',
    checkResult: 'Check result',
    passed: ': passed',
    failed: ': failed',
    fix: (field: string) => `Fix: ${field}`,
    works: 'All checks passed. You can send and receive messages.',
  },
  web: {
    code: 'Code for your website',
    paste: 'Paste this code before </body> on every page of your website that should show the chat.',
    siteId: 'Site ID',
    copySiteId: 'Copy site ID',
    widget: {
      title: 'Appearance and allowed websites',
      name: 'Title',
      nameHint: 'If empty, the title and greeting use the language of the page when available.',
      namePlaceholder: 'Chat with us',
      greeting: 'Greeting',
      greetingPlaceholder: 'Ask us anything. We reply right here.',
      color: 'Color',
      position: 'Position',
      positions: { left: 'Left', right: 'Right' },
      details: 'Ask for name and email',
      detailsHint: 'Shown with the first message.',
      detailsOptions: { never: 'Never', optional: 'Optional', required: 'Required' },
      origins: 'Allowed websites',
      originsHint: 'One per line, without a path. If empty, any website can show the chat.',
      originsPlaceholder: 'https://shop.example',
      names: 'Names of members',
      namesHint: 'What visitors see of the member who replies. They never see an email address.',
      namesOptions: { first: 'First name', full: 'Full name', hidden: 'No name' },
      replyTime: 'Show how soon you usually reply',
      replyTimeHint: 'From the replies of the last 30 days in the web chat, once there are five.',
      preview: 'Preview',
      sampleQuestion: 'Is this still available?',
      sampleAnswer: 'Yes, it is. Shall I put one aside for you?',
      sampleMember: 'Ann Miller',
    },
    identity: {
      title: 'Customers who are signed in on your site',
      text: 'Your server signs who the customer is. The customer then has one conversation on all devices, and you see the customer’s ID. Without a valid signature a visitor stays anonymous. The guide docs/web-chat.md has examples for Node and Python.',
      fact: 'Identity secret',
      none: 'No secret yet',
      created: (when: string) => `Created ${when}`,
      create: 'Create secret',
      replace: 'Replace secret',
      replaceTitle: 'Replace the identity secret?',
      replaceText:
        'Tokens that your server signs with the old secret are refused at once. Signed-in customers stay anonymous until your server has the new secret.',
      remove: 'Delete secret',
      removeTitle: 'Delete the identity secret?',
      removeText: 'Signed-in customers become anonymous visitors. Their conversations are kept.',
      removed: 'Identity secret deleted',
      secretTitle: 'Your identity secret',
      secretText: 'Store it on your server, never in a page. It is not shown again.',
      secretDone: 'I have stored it',
    },
  },
}
