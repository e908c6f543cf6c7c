export const integrations = {
  title: 'Integrations',
  lead: 'Send events to an automation tool as signed webhooks.',
  tools: {
    tool_a: {
      name: 'n8n',
      text: 'Start a workflow when a customer writes, such as creating a ticket or updating your CRM.',
      steps: [
        'In n8n, create a workflow, add a Webhook node and set its HTTP method to POST.',
        'Copy the Production URL of the node. The Test URL works only while the editor listens.',
        'Select Connect here, paste the URL and choose the events.',
        'Activate the workflow in n8n, then send a test event.',
      ],
    },
    tool_b: {
      name: 'Make',
      text: 'Start a scenario with messages, contacts and delivery statuses.',
      steps: [
        'In Make, create a scenario, add the module Webhooks, Custom webhook, and add a webhook to it.',
        'Copy the address of the webhook. Make then waits for a first request, from which it learns the fields.',
        'Select Connect here, paste the address and choose the events.',
        'Open the delivery log and send a test event of the kind that the scenario uses.',
        'Turn the scenario on in Make.',
      ],
    },
  },
  other: {
    name: 'Other tools',
    text: 'Zapier, Pipedream, Activepieces and every other tool that receives webhooks.',
    steps: [
      'In the tool, create a webhook trigger that accepts POST with JSON, and copy its https URL.',
      'Add the URL as a webhook endpoint, and choose the events.',
      'On the page of the endpoint, send a test event.',
    ],
    action: 'Add endpoint',
  },
  steps: (tool: string) => `How to connect ${tool}`,
  connected: (number: number) => (number === 1 ? '1 connection' : `${number} connections`),
  notConnected: 'Not connected',
  connections: (tool: string) => `Connections to ${tool}`,
  connect: 'Connect',
  another: 'Connect another',
  onlyManagers: 'Only owners and admins can connect integrations.',
  form: {
    title: (tool: string) => `Connect ${tool}`,
    url: 'Webhook URL',
    submit: 'Connect',
  },
  secret: {
    title: (tool: string) => `${tool} connected`,
    text: 'If the tool verifies signatures, copy this signing secret to it. The secret is not shown again.',
  },
  log: 'Delivery log',
  logOf: (url: string) => `Delivery log of ${url}`,
  enable: 'Enable',
  enabled: 'Connection enabled',
  test: {
    action: 'Send test event',
    actionOf: (url: string) => `Send test event to ${url}`,
  },
  disconnect: {
    action: 'Disconnect',
    title: (tool: string) => `Disconnect ${tool}?`,
    text: (url: string) => `No more events are sent to ${url}. If you reconnect, the connection gets a new secret.`,
    done: (tool: string) => `${tool} disconnected`,
  },
  toWebhooks: 'View webhooks',
}
