/** The widget's texts in the language of the page. English is the fallback. */
export type Words = {
  lang: string
  title: string
  greeting: string
  open: string
  close: string
  unread: (count: number) => string
  newMessage: string
  messages: string
  earlier: string
  placeholder: string
  send: string
  attach: string
  tooLarge: string
  name: string
  email: string
  optional: (field: string) => string
  details: string
  pending: string
  failed: string
  retry: string
  offline: string
  file: string
  deleted: string
  you: string
  reply: string
  seen: string
  /** After the name of a member. */
  typing: string
}

const en: Words = {
  lang: 'en',
  title: 'Chat with us',
  greeting: 'Ask us anything. We reply right here.',
  open: 'Open chat',
  close: 'Close chat',
  unread: (count) => (count === 1 ? '1 unread message' : `${count} unread messages`),
  newMessage: 'New message',
  messages: 'Messages',
  earlier: 'Earlier messages',
  placeholder: 'Write a message…',
  send: 'Send',
  attach: 'Attach a file',
  tooLarge: 'A file may have at most 10 MB.',
  name: 'Name',
  email: 'Email',
  optional: (field) => `${field} (optional)`,
  details: 'Your contact details',
  pending: 'Sending…',
  failed: 'Not sent',
  retry: 'Try again',
  offline: 'You are offline. Your messages are sent when you reconnect.',
  file: 'File',
  deleted: 'This message was deleted',
  you: 'You:',
  reply: 'Reply:',
  seen: 'Seen',
  typing: 'is typing…',
}

const de: Words = {
  lang: 'de',
  title: 'Schreiben Sie uns',
  greeting: 'Stellen Sie uns Ihre Frage. Wir antworten direkt hier.',
  open: 'Chat öffnen',
  close: 'Chat schließen',
  unread: (count) => (count === 1 ? '1 ungelesene Nachricht' : `${count} ungelesene Nachrichten`),
  newMessage: 'Neue Nachricht',
  messages: 'Nachrichten',
  earlier: 'Frühere Nachrichten',
  placeholder: 'Nachricht schreiben…',
  send: 'Senden',
  attach: 'Datei anhängen',
  tooLarge: 'Eine Datei darf höchstens 10 MB groß sein.',
  name: 'Name',
  email: 'E-Mail',
  optional: (field) => `${field} (optional)`,
  details: 'Ihre Kontaktdaten',
  pending: 'Wird gesendet…',
  failed: 'Nicht gesendet',
  retry: 'Erneut versuchen',
  offline: 'Sie sind offline. Ihre Nachrichten werden gesendet, sobald Sie wieder verbunden sind.',
  file: 'Datei',
  deleted: 'Diese Nachricht wurde gelöscht',
  you: 'Sie:',
  reply: 'Antwort:',
  seen: 'Gesehen',
  typing: 'schreibt…',
}

const es: Words = {
  lang: 'es',
  title: 'Chatea con nosotros',
  greeting: 'Pregúntanos lo que quieras. Te respondemos aquí.',
  open: 'Abrir el chat',
  close: 'Cerrar el chat',
  unread: (count) => (count === 1 ? '1 mensaje sin leer' : `${count} mensajes sin leer`),
  newMessage: 'Mensaje nuevo',
  messages: 'Mensajes',
  earlier: 'Mensajes anteriores',
  placeholder: 'Escribe un mensaje…',
  send: 'Enviar',
  attach: 'Adjuntar un archivo',
  tooLarge: 'Un archivo puede tener como máximo 10 MB.',
  name: 'Nombre',
  email: 'Correo electrónico',
  optional: (field) => `${field} (opcional)`,
  details: 'Tus datos de contacto',
  pending: 'Enviando…',
  failed: 'No enviado',
  retry: 'Reintentar',
  offline: 'Estás sin conexión. Tus mensajes se enviarán cuando vuelvas a conectarte.',
  file: 'Archivo',
  deleted: 'Este mensaje se eliminó',
  you: 'Tú:',
  reply: 'Respuesta:',
  seen: 'Visto',
  typing: 'está escribiendo…',
}

const fr: Words = {
  lang: 'fr',
  title: 'Écrivez-nous',
  greeting: 'Posez votre question. Nous répondons ici même.',
  open: 'Ouvrir le chat',
  close: 'Fermer le chat',
  unread: (count) => (count === 1 ? '1 message non lu' : `${count} messages non lus`),
  newMessage: 'Nouveau message',
  messages: 'Messages',
  earlier: 'Messages précédents',
  placeholder: 'Écrire un message…',
  send: 'Envoyer',
  attach: 'Joindre un fichier',
  tooLarge: 'Un fichier peut avoir 10 Mo au maximum.',
  name: 'Nom',
  email: 'E-mail',
  optional: (field) => `${field} (facultatif)`,
  details: 'Vos coordonnées',
  pending: 'Envoi en cours…',
  failed: 'Non envoyé',
  retry: 'Réessayer',
  offline: 'Vous êtes hors ligne. Vos messages seront envoyés dès que vous serez reconnecté.',
  file: 'Fichier',
  deleted: 'Ce message a été supprimé',
  you: 'Vous :',
  reply: 'Réponse :',
  seen: 'Vu',
  typing: 'écrit…',
}

const pt: Words = {
  lang: 'pt',
  title: 'Fale connosco',
  greeting: 'Pergunte o que quiser. Respondemos aqui mesmo.',
  open: 'Abrir o chat',
  close: 'Fechar o chat',
  unread: (count) => (count === 1 ? '1 mensagem por ler' : `${count} mensagens por ler`),
  newMessage: 'Nova mensagem',
  messages: 'Mensagens',
  earlier: 'Mensagens anteriores',
  placeholder: 'Escreva uma mensagem…',
  send: 'Enviar',
  attach: 'Anexar um ficheiro',
  tooLarge: 'Um ficheiro pode ter no máximo 10 MB.',
  name: 'Nome',
  email: 'E-mail',
  optional: (field) => `${field} (opcional)`,
  details: 'Os seus dados de contacto',
  pending: 'A enviar…',
  failed: 'Não enviada',
  retry: 'Tentar de novo',
  offline: 'Está sem ligação. As suas mensagens serão enviadas quando voltar a ter ligação.',
  file: 'Ficheiro',
  deleted: 'Esta mensagem foi apagada',
  you: 'Você:',
  reply: 'Resposta:',
  seen: 'Visto',
  typing: 'está a escrever…',
}

const ar: Words = {
  lang: 'ar',
  title: 'تحدث معنا',
  greeting: 'اسألنا ما تشاء، ونجيبك هنا.',
  open: 'فتح المحادثة',
  close: 'إغلاق المحادثة',
  unread: (count) => `الرسائل غير المقروءة: ${count}`,
  newMessage: 'رسالة جديدة',
  messages: 'الرسائل',
  earlier: 'رسائل سابقة',
  placeholder: 'اكتب رسالة…',
  send: 'إرسال',
  attach: 'إرفاق ملف',
  tooLarge: 'الحد الأقصى لحجم الملف 10 ميغابايت.',
  name: 'الاسم',
  email: 'البريد الإلكتروني',
  optional: (field) => `${field} (اختياري)`,
  details: 'بيانات الاتصال بك',
  pending: 'جارٍ الإرسال…',
  failed: 'لم تُرسل',
  retry: 'إعادة المحاولة',
  offline: 'أنت غير متصل. ستُرسل رسائلك عند عودة الاتصال.',
  file: 'ملف',
  deleted: 'حُذفت هذه الرسالة',
  you: 'أنت:',
  reply: 'الرد:',
  seen: 'شوهدت',
  typing: 'يكتب…',
}

const all: Record<string, Words> = { en, de, es, fr, pt, ar }

/** Returns the texts of the first supported language. */
export const wordsFor = (languages: readonly string[]): Words =>
  languages.map((language) => all[language.slice(0, 2).toLowerCase()]).find(Boolean) ?? en
