/**
 * Suggests what the columns of a file are, from their names in the common languages and from the values of the first rows. Pure.
 *
 * Names are compared without case, accents, spaces and punctuation.
 */
import { namePattern } from '../contacts/attributes.ts'
import { parsePhone } from '../contacts/phone.ts'
import { type TagSeparator, tagSeparators } from '../contacts/tags.ts'
import type { Delimiter } from '../lib/csv-format.ts'
import { fold } from '../lib/text.ts'
import type { AttributeType, Target } from './mapping.ts'
import { isPlainNumber, readBoolean, readNumber } from './values.ts'

export type Suggestion = {
  target: Target
  /** The attribute that the column can become. */
  attribute: { key: string; type: AttributeType }
}

type SuggestOptions = {
  country: string
  delimiter: Delimiter
  /** The attributes that contacts have, with their types. */
  attributes: ReadonlyMap<string, AttributeType>
}

/** `samples`: values of each column, without empty ones. */
export function suggestTargets(
  header: readonly string[],
  samples: readonly (readonly string[])[],
  { country, delimiter, attributes }: SuggestOptions,
): Suggestion[] {
  const names = header.map(normalize)
  const targets = header.map((): Target => ({ to: 'nothing' }))
  const valuesOf = (column: number) => samples[column] ?? []
  const isFree = (column: number) => targets[column]?.to === 'nothing'
  const listed = (list: ReadonlySet<string>) => names.flatMap((name, i) => (list.has(name) && isFree(i) ? [i] : []))
  const choose = (column: number | undefined, target: Target) => {
    if (column !== undefined) targets[column] = target
  }
  /** The columns with the largest shares first. */
  const sharesOf = (columns: readonly number[], isMatch: (value: string) => boolean) =>
    columns
      .slice(0, maxCompared)
      .map((column) => ({ column, share: shareOf(valuesOf(column), isMatch) }))
      .sort((one, other) => other.share - one.share)
  const isPhone = (value: string) => /\d{7}/.test(value.replace(/\D/g, '')) && parsePhone(value, country) !== undefined
  const isEmail = (value: string) => /^[^\s@]{1,100}@[^\s@]{1,200}$/.test(value)
  const all = names.map((_, column) => column)

  /** The column with such a name and most such values; without one, a column that has hardly any other values. */
  const find = (list: ReadonlySet<string>, isMatch: (value: string) => boolean): number | undefined => {
    const [named] = sharesOf(listed(list), isMatch)
    if (named && named.share > 0) return named.column
    const [likely] = sharesOf(all.filter(isFree), isMatch)
    return likely && likely.share >= mostOf ? likely.column : named?.column
  }

  choose(find(phoneNames, isPhone), { to: 'phone' })
  choose(find(emailNames, isEmail), { to: 'email' })
  choose(listed(companyNames)[0], { to: 'company' })
  choose(listed(optOutNames)[0], { to: 'opted_out' })
  for (const column of listed(tagNames)) choose(column, { to: 'tags', separator: guessSeparator(valuesOf(column)) })
  for (const column of chooseNames(listed)) choose(column, { to: 'name' })

  const taken = new Set<string>()
  return header.map((name, column) => {
    const values = valuesOf(column)
    const plain = toKey(name) ?? `column_${column + 1}`
    const key = taken.has(plain) ? `column_${column + 1}` : plain
    taken.add(key)
    const attribute = { key, type: attributes.get(key) ?? guessType(values, delimiter) }
    const target = targets[column] ?? { to: 'nothing' }
    const isKnown = target.to === 'nothing' && attributes.has(key)
    return { target: isKnown ? { to: 'attribute', ...attribute } : target, attribute }
  })
}

/** Of the values of a column. */
const mostOf = 0.8
/** Columns whose values are compared, so that a request with a thousand columns takes no longer. */
const maxCompared = 100

function shareOf(values: readonly string[], isMatch: (value: string) => boolean): number {
  return values.length === 0 ? 0 : values.filter(isMatch).length / values.length
}

/** A full name, or a first and a last name, which are two columns. In some languages the column `name` is the last name. */
function chooseNames(listed: (list: ReadonlySet<string>) => number[]): number[] {
  const [full] = listed(fullNames)
  if (full !== undefined) return [full]
  const [[first], [name], [last]] = [listed(firstNames), listed(plainNames), listed(lastNames)]
  const parts = first !== undefined && last !== undefined ? [first, last] : [first, name, last]
  return parts.filter((column) => column !== undefined).slice(0, 2)
}

/** The separator that most values have, without escaped ones. */
function guessSeparator(values: readonly string[]): TagSeparator {
  const plain = values.map((value) => value.replace(/\\./gu, ''))
  const counts = tagSeparators.map((separator) => plain.filter((value) => value.includes(separator)).length)
  return tagSeparators[counts.indexOf(Math.max(...counts))] ?? ';'
}

function guessType(values: readonly string[], delimiter: Delimiter): AttributeType {
  if (values.length === 0) return 'text'
  const isNumber = (value: string) => isPlainNumber(value) && readNumber(value, delimiter === ';') !== undefined
  // A column of 1 and 0 is a number: it may be a count.
  if (values.every(isNumber)) return 'number'
  const truths = new Set(values.map(readBoolean))
  // A column of one letter, such as x, may be anything. A wrong text loses nothing; a wrong boolean rejects rows.
  const isClear = truths.size === 2 || values.some((value) => value.length > 1)
  return isClear && !truths.has(undefined) ? 'boolean' : 'text'
}

/** A name of an attribute: `Customer No.` is `customer_no`. */
function toKey(name: string): string | undefined {
  const key = withoutAccents(name)
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^[_0-9]+/, '')
    .slice(0, 40)
    .replace(/_+$/, '')
  return namePattern.test(key) ? key : undefined
}

const withoutAccents = (text: string): string => fold(text).normalize('NFD').replace(/\p{M}/gu, '')
const normalize = (name: string): string => withoutAccents(name).replace(/[^\p{L}\p{N}]/gu, '')

const namesIn = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).map(normalize).filter(Boolean))

const phoneNames = namesIn(`
  phone phonenumber phoneno phonenr phones mobile mobilephone mobilenumber mobileno mobilephonenumber cell cellphone
  cellnumber cellphonenumber tel telno telephone telephonenumber contactnumber contactno msisdn gsm primaryphone
  workphone homephone phone1 phone1value phonemobile
  teléfono telefonomovil telefonocelular numerodetelefono celular movil nrotelefono numerotelefono
  handy handynummer handynr mobil mobilnummer mobiltelefon telefon telefonnummer telefonnr rufnummer
  téléphone telephoneportable telephonemobile portable numerodetelephone numerotelephone
  telefone telemovel numerodetelefone cellulare numeroditelefono telefoon telefoonnummer mobiel mobielnummer
  numertelefonu komorka puhelin puhelinnumero matkapuhelin telefonszám ceptelefonu telefonnumarasi cep
  телефон номертелефона мобильный мобильныйтелефон τηλεφωνο κινητο
  电话 手机 手机号 手机号码 电话号码 電話 電話番号 携帯 携帯電話 携帯番号 전화 전화번호 휴대폰 휴대전화
  الهاتف هاتف رقمالهاتف جوال رقمالجوال טלפון נייד telepon nomortelepon nohp nomorhp sodienthoai`)

const emailNames = namesIn(`
  email mail emailaddress mailaddress emailid email1 email1value primaryemail workemail
  correo correoelectronico courriel adresseemail adressemail adresseelectronique emailadresse mailadresse emailadres
  enderecodeemail epost epostadress epostadresse eposta sahkoposti adresemail почта электроннаяпочта имейл
  邮箱 电子邮件 电子邮箱 電子郵件 メール メールアドレス 이메일 البريدالالكتروني البريدالإلكتروني דואל אימייל`)

const companyNames = namesIn(`
  company companyname organization organisation organizationname organisationname organization1name business
  businessname accountname employer empresa nombredelaempresa compañia compania entreprise societe raisonsociale
  firma firmenname unternehmen azienda societa ragionesociale bedrijf bedrijfsnaam företag foretag virksomhed firmanavn
  yritys şirket sirket компания организация 公司 公司名称 会社 会社名 회사 회사명 الشركة perusahaan congty`)

const optOutNames = namesIn('optedout optout unsubscribed donotcontact dnc abgemeldet desinscrit')

const tagNames = namesIn(`
  tags tag labels groups group groupmembership etiquetas etiqueta schlagworte schlagwörter schlagwort etiquettes
  etichette etiketter tagi etiketler теги метки 标签 タグ 태그 الوسوم`)

const fullNames = namesIn(`
  fullname displayname contactname customername clientname personname namefull nombrecompleto nombreyapellidos
  nombreyapellido nomcomplet nometprenom prenometnom vollername vollständigername kundenname nomecompleto nomeecognome
  nomeesobrenome volledigenaam imięinazwisko imieinazwisko fulltnavn fullständigtnamn adsoyad adisoyadi фио полноеимя
  姓名 氏名 お名前 성명 الاسمالكامل namalengkap hoten`)

const plainNames = namesIn(
  'name nombre nome naam namn navn nimi név ime имя 名前 名称 이름 الاسم שם nama ten contact customer client kunde cliente',
)

const firstNames = namesIn(`
  firstname first givenname forename prénom vorname primernombre nombredepila primeironome nomeproprio nomedibattesimo
  voornaam imię förnamn fornamn fornavn etunimi keresztnév ad adi 名 名字`)

const lastNames = namesIn(`
  lastname last surname familyname secondname nom nomdefamille nachname familienname zuname apellido apellidos sobrenome
  apelido cognome achternaam nazwisko efternamn etternavn efternavn sukunimi vezetéknév soyad soyadi фамилия 姓 성`)
