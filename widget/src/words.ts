/** What the widget says, in the language of the page it is on; English where it does not know that language. */
export type Words = {
  lang: string
  title: string
  greeting: string
  open: string
  close: string
  unread: (count: number) => string
  news: string
  thread: string
  earlier: string
  placeholder: string
  send: string
  name: string
  email: string
  optional: (field: string) => string
  details: string
  waiting: string
  refused: string
  again: string
  offline: string
  file: string
  deleted: string
  you: string
  them: string
}

const en: Words = {
  lang: 'en',
  title: 'Chat with us',
  greeting: 'Ask us anything. We answer right here.',
  open: 'Open chat',
  close: 'Close chat',
  unread: (count) => (count === 1 ? '1 unread message' : `${count} unread messages`),
  news: 'New message',
  thread: 'Messages',
  earlier: 'Earlier messages',
  placeholder: 'Write a message…',
  send: 'Send',
  name: 'Name',
  email: 'E-mail',
  optional: (field) => `${field} (optional)`,
  details: 'So that we know who writes',
  waiting: 'Waiting to be sent',
  refused: 'Not sent',
  again: 'Try again',
  offline: 'You are offline. What you write is sent when you are back.',
  file: 'File',
  deleted: 'This message was deleted',
  you: 'You:',
  them: 'Reply:',
}

const de: Words = {
  lang: 'de',
  title: 'Schreiben Sie uns',
  greeting: 'Fragen Sie uns. Die Antwort kommt hier.',
  open: 'Chat öffnen',
  close: 'Chat schließen',
  unread: (count) => (count === 1 ? '1 ungelesene Nachricht' : `${count} ungelesene Nachrichten`),
  news: 'Neue Nachricht',
  thread: 'Nachrichten',
  earlier: 'Frühere Nachrichten',
  placeholder: 'Nachricht schreiben…',
  send: 'Senden',
  name: 'Name',
  email: 'E-Mail',
  optional: (field) => `${field} (freiwillig)`,
  details: 'Damit wir wissen, wer schreibt',
  waiting: 'Wird noch gesendet',
  refused: 'Nicht gesendet',
  again: 'Noch einmal',
  offline: 'Sie sind offline. Ihre Nachricht wird gesendet, sobald Sie wieder verbunden sind.',
  file: 'Datei',
  deleted: 'Diese Nachricht wurde gelöscht',
  you: 'Sie:',
  them: 'Antwort:',
}

const es: Words = {
  lang: 'es',
  title: 'Chatea con nosotros',
  greeting: 'Pregúntanos lo que quieras. Te respondemos aquí.',
  open: 'Abrir el chat',
  close: 'Cerrar el chat',
  unread: (count) => (count === 1 ? '1 mensaje sin leer' : `${count} mensajes sin leer`),
  news: 'Mensaje nuevo',
  thread: 'Mensajes',
  earlier: 'Mensajes anteriores',
  placeholder: 'Escribe un mensaje…',
  send: 'Enviar',
  name: 'Nombre',
  email: 'Correo electrónico',
  optional: (field) => `${field} (opcional)`,
  details: 'Para saber quién escribe',
  waiting: 'Pendiente de envío',
  refused: 'No enviado',
  again: 'Reintentar',
  offline: 'Estás sin conexión. Lo que escribas se enviará cuando vuelvas.',
  file: 'Archivo',
  deleted: 'Este mensaje se eliminó',
  you: 'Tú:',
  them: 'Respuesta:',
}

const fr: Words = {
  lang: 'fr',
  title: 'Écrivez-nous',
  greeting: 'Posez votre question. Nous répondons ici même.',
  open: 'Ouvrir le chat',
  close: 'Fermer le chat',
  unread: (count) => (count === 1 ? '1 message non lu' : `${count} messages non lus`),
  news: 'Nouveau message',
  thread: 'Messages',
  earlier: 'Messages précédents',
  placeholder: 'Écrire un message…',
  send: 'Envoyer',
  name: 'Nom',
  email: 'E-mail',
  optional: (field) => `${field} (facultatif)`,
  details: 'Pour savoir qui écrit',
  waiting: 'En attente d’envoi',
  refused: 'Non envoyé',
  again: 'Réessayer',
  offline: 'Vous êtes hors ligne. Vos messages partiront dès votre retour.',
  file: 'Fichier',
  deleted: 'Ce message a été supprimé',
  you: 'Vous :',
  them: 'Réponse :',
}

const pt: Words = {
  lang: 'pt',
  title: 'Fale connosco',
  greeting: 'Pergunte o que quiser. Respondemos aqui mesmo.',
  open: 'Abrir o chat',
  close: 'Fechar o chat',
  unread: (count) => (count === 1 ? '1 mensagem por ler' : `${count} mensagens por ler`),
  news: 'Nova mensagem',
  thread: 'Mensagens',
  earlier: 'Mensagens anteriores',
  placeholder: 'Escreva uma mensagem…',
  send: 'Enviar',
  name: 'Nome',
  email: 'E-mail',
  optional: (field) => `${field} (opcional)`,
  details: 'Para sabermos quem escreve',
  waiting: 'À espera de envio',
  refused: 'Não enviada',
  again: 'Tentar de novo',
  offline: 'Está sem ligação. O que escrever será enviado quando voltar.',
  file: 'Ficheiro',
  deleted: 'Esta mensagem foi apagada',
  you: 'Você:',
  them: 'Resposta:',
}

const ar: Words = {
  lang: 'ar',
  title: 'تحدث معنا',
  greeting: 'اسألنا ما تشاء، ونجيبك هنا.',
  open: 'فتح المحادثة',
  close: 'إغلاق المحادثة',
  unread: (count) => `الرسائل غير المقروءة: ${count}`,
  news: 'رسالة جديدة',
  thread: 'الرسائل',
  earlier: 'رسائل سابقة',
  placeholder: 'اكتب رسالة…',
  send: 'إرسال',
  name: 'الاسم',
  email: 'البريد الإلكتروني',
  optional: (field) => `${field} (اختياري)`,
  details: 'لنعرف من يكتب',
  waiting: 'في انتظار الإرسال',
  refused: 'لم تُرسل',
  again: 'إعادة المحاولة',
  offline: 'أنت غير متصل. سيُرسل ما تكتبه عند عودة الاتصال.',
  file: 'ملف',
  deleted: 'حُذفت هذه الرسالة',
  you: 'أنت:',
  them: 'الرد:',
}

const all: Record<string, Words> = { en, de, es, fr, pt, ar }

/** The first of these languages that is known. */
export const wordsOf = (languages: readonly string[]): Words =>
  languages.map((language) => all[language.slice(0, 2).toLowerCase()]).find(Boolean) ?? en
