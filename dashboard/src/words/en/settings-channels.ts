/** The words of connecting channels. Where things are is said for somebody who has never been there. */
export const channels = {
  title: 'Channels',
  lead: 'Where your customers write to you. Each channel is connected once.',
  abouts: {
    msgapp: 'Messages to and from phone numbers, templates and broadcasts.',
    social: 'Direct messages to your account on the social network.',
    web: 'A chat window on your own site.',
  },
  states: { connected: 'Connected', failing: 'Needs attention', unchecked: 'Not checked yet' },
  notConnected: 'Not connected',
  simulator: 'Simulator',
  simulated: 'Connected to the simulator: nothing leaves this machine, and you can play the customer.',
  openSimulator: 'Open the simulator',
  connect: 'Connect',
  connectOwn: 'Connect your own account',
  connectWeb: 'Switch on web chat',
  configure: 'Configure',
  checkAgain: 'Check again',
  disconnect: 'Disconnect',
  connected: (channel: string) => `${channel} is connected`,
  disconnected: (channel: string) => `${channel} is disconnected`,
  disconnectTitle: (channel: string) => `Disconnect ${channel}?`,
  disconnectTexts: {
    msgapp:
      'Messages can no longer be sent or received on it, and running broadcasts stop. Conversations and contacts stay. To connect it again you need the access token and the app secret.',
    social:
      'Messages can no longer be sent or received on it. Conversations and contacts stay. To connect it again you need the access token and the app secret.',
    web: 'The chat window on your site stops working. Conversations and contacts stay. Connected again, it gets a new site id: the line on your site has to be replaced.',
  },
  signals: {
    label: 'Notices of the provider',
    reported: 'Reported',
    ends: (at: string) => `Ends ${at}.`,
    dismiss: 'Dismiss',
  },
  lastCheck: 'Last check',
  lastReport: 'Last report',
  pace: 'Pace',
  perSecond: (number: string) => `${number} messages a second`,
  paceLabel: 'Messages a second',
  paceHint:
    'No broadcast goes faster than this. Usual is 80; more only if the provider has raised the limit of your number.',
  fields: {
    account_id: {
      label: 'Account id',
      placeholder: 'For example 102290129340398',
      hints: {
        msgapp:
          'The id of your business account, digits only. In the provider’s developer console open your app, then the messaging product, then API setup: it is called “Business account ID”.',
        social:
          'The id of your professional account, digits only. In the provider’s developer console open your app, then the direct-message product, then API setup: it is below the name of the account.',
      },
    },
    phone_number_id: {
      label: 'Phone number id',
      placeholder: 'For example 106540352242922',
      hints: {
        msgapp:
          'Not the number itself: the id the provider gave it. On the same page, below the number you send from, called “Phone number ID”. A workspace has one number: messages to other numbers of the account are not received.',
        social: '',
      },
    },
    access_token: {
      label: 'Access token',
      placeholder: '',
      hints: {
        msgapp:
          'Lets Parley send for you. In the business settings, under System users, choose one, press “Generate token” and allow it to manage and to send messages. The token on the API setup page also works, but only for 24 hours.',
        social: 'Lets Parley send for you. On the same page, beside the account, press “Generate token”.',
      },
    },
    app_secret: {
      label: 'App secret',
      placeholder: '',
      hints: {
        msgapp:
          'Proves that what arrives really comes from the provider. In the console under App settings, Basic: press “Show” beside “App secret”.',
        social:
          'Proves that what arrives really comes from the provider. On the API setup page of the direct-message product, called “App secret”.',
      },
    },
    verify_token: {
      label: 'Verify token',
      placeholder: 'Parley makes one up',
      hints: {
        msgapp: 'What the provider shows us when it first calls. Only if it has to be a certain one.',
        social: 'What the provider shows us when it first calls. Only if it has to be a certain one.',
      },
    },
    base_url: {
      label: 'Address of the provider',
      placeholder: 'https://graph.…',
      hints: {
        msgapp: 'Only if you reach the provider through an address of your own.',
        social: 'Only if you reach the provider through an address of your own.',
      },
    },
    api_version: {
      label: 'API version',
      placeholder: 'v25.0',
      hints: {
        msgapp: 'Empty for the one Parley was made with.',
        social: 'Empty for the one Parley was made with.',
      },
    },
  },
  guide: {
    titles: { msgapp: 'Connect the messaging app', social: 'Connect social messages' },
    lead: 'Three steps, about ten minutes. You need access to the provider’s developer console.',
    replaces: 'This channel is connected to the simulator now. What you store here replaces it with your own account.',
    locked: 'After the step before',
    needs: 'What Parley needs',
    needsTexts: {
      msgapp: 'Four things from the provider’s developer console. Keep it open beside this page.',
      social: 'Three things from the provider’s developer console. Keep it open beside this page.',
    },
    kept: 'Stored. Leave empty to keep it.',
    advanced: 'Address, version and verify token',
    save: 'Save and go on',
    saveAgain: 'Save changes',
    callback: 'Where the provider reports to',
    callbackSteps: {
      msgapp: [
        'In the console open your app, then the messaging product, then Configuration.',
        'Beside “Webhook” press “Edit”, paste both values below and press “Verify and save”.',
        'Below it, switch on the fields that are listed here.',
      ],
      social: [
        'In the console open your app, then the direct-message product, then API setup.',
        'Under “Configure webhooks” paste both values below and press “Verify and save”.',
        'Below it, switch on the fields that are listed here, and beside the account “Webhook subscription”.',
      ],
    },
    callbackUrl: 'Callback URL',
    copyCallbackUrl: 'Copy callback URL',
    verifyToken: 'Verify token',
    copyVerifyToken: 'Copy verify token',
    subscribe: 'Fields to switch on',
    received: 'It works: the provider reported to Parley',
    verified: 'The provider verified the callback',
    nothingReceived: 'It has reported nothing yet: write to the number or account yourself to try it.',
    notVerified: 'The provider has not called yet. This changes by itself once it has.',
    notPublic:
      'The provider only calls public https addresses, and this is none. Whoever runs Parley sets PUBLIC_URL to the address others reach it by.',
    check: 'Check the connection',
    checkText: 'Parley asks the provider with what you stored, one thing after the other, and says what is wrong.',
    checkNow: 'Check now',
    checkResult: 'What the check showed',
    passed: ': good',
    failed: ': failed',
    mend: (field: string) => `Mend: ${field}`,
    works: 'Everything works. Customers can write, and you can answer.',
  },
  web: {
    paste: 'Paste this line into every page of your site that should have the chat, before </body>.',
    siteId: 'Site id',
    copySiteId: 'Copy site id',
    look: {
      title: 'How it looks and who may have it',
      name: 'Title',
      nameHint: 'Left empty, title and greeting are in the language of the page, where the chat knows it.',
      namePlaceholder: 'Chat with us',
      greeting: 'Greeting',
      greetingPlaceholder: 'Ask us anything. We answer right here.',
      color: 'Colour',
      position: 'Corner of the page',
      positions: { left: 'Left', right: 'Right' },
      details: 'Name and e-mail',
      detailsHint: 'Asked for with the first message.',
      wishes: { never: 'Not asked for', optional: 'Asked for, may be left out', required: 'Required' },
      origins: 'Sites that may have the chat',
      originsHint: 'One a line, without a path. Empty: any site that has the line above.',
      originsPlaceholder: 'https://shop.example',
      sampleQuestion: 'Is it still there?',
      sampleAnswer: 'Hello!',
    },
  },
}
