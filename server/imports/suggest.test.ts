import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertCheap } from '../../tests/cpu.ts'
import { suggestTargets } from './suggest.ts'

const options = { country: 'US', delimiter: ',', attributes: new Map() } as const

/** The targets of columns, by their names and the values of their first rows. */
function targetsOf(header: readonly string[], samples: readonly (readonly string[])[] = []): string[] {
  return suggestTargets(header, samples, options).map(({ target: { to, separator } }) => to + (separator ?? ''))
}

test('the names of columns are known in many spellings and languages', () => {
  for (const [header, targets] of [
    ['Phone Number,Full name,E-mail,Company', 'phone,name,email,company'],
    ['Teléfono,Nombre completo,Correo electrónico,Empresa', 'phone,name,email,company'],
    ['Handy,Vorname,Nachname,E-Mail-Adresse,Firma', 'phone,name,name,email,company'],
    ['Name,Vorname,Telefon', 'name,name,phone'],
    ['Prénom,Nom,Téléphone portable,Société', 'name,name,phone,company'],
    ['Nome,Cognome,Cellulare', 'name,name,phone'],
    ['Имя,Фамилия,Телефон,Эл. почта', 'name,name,phone,nothing'],
    ['姓名,手机号,邮箱,公司', 'name,phone,email,company'],
    ['氏名,電話番号,メールアドレス,会社名', 'name,phone,email,company'],
    ['الاسم,رقم الهاتف', 'name,phone'],
    ['FIRST_NAME,LAST_NAME,MOBILE_PHONE,EMAIL_ADDRESS,ORGANIZATION', 'name,name,phone,email,company'],
    ['name,first name,last name,phone', 'nothing,name,name,phone'],
    ['display name,first name,phone', 'name,nothing,phone'],
    ['phone,name,opted_out,created_at', 'phone,name,opted_out,nothing'],
    ['x,y', 'nothing,nothing'],
    ['', 'nothing'],
  ] as const) {
    assert.deepEqual(targetsOf(header.split(',')).join(), targets, header)
  }
})

test('values decide where names do not', () => {
  assert.deepEqual(
    targetsOf(
      ['a', 'b', 'c'],
      [
        ['1', '2'],
        ['ann@x.test', 'bo@x.test'],
        ['(415) 555-0100', '+49 30 1234567'],
      ],
    ),
    ['nothing', 'email', 'phone'],
  )
  // Of two columns for numbers, the one with more of them.
  assert.deepEqual(
    targetsOf(
      ['Phone', 'Mobile'],
      [
        ['none', ''],
        ['4155550100', '4155550101'],
      ],
    ),
    ['nothing', 'phone'],
  )
  assert.deepEqual(targetsOf(['Tags'], [['a|b', 'c']]), ['tags|'])
  assert.deepEqual(targetsOf(['Tags'], [['a\\|b', 'c, d']]), ['tags,'])
  assert.deepEqual(targetsOf(['Tags'], [['a', 'b']]), ['tags;'])
})

test('other columns can become attributes, with a name and a type', () => {
  const header = ['Customer No.', 'PLZ', 'Active', 'Größe (cm)', '2nd phone', '', 'plan', 'Plan!', 'x'.repeat(60)]
  const samples = [['7', '12'], ['01234'], ['yes', 'no'], ['180', '17.5'], ['x'], [], ['pro'], ['max'], ['1', 'z']]
  const attributes = new Map([['plan', 'text'] as const])
  const found = suggestTargets(header, samples, { ...options, attributes })
  assert.deepEqual(
    found.map(({ attribute: { key, type } }) => `${key} ${type}`),
    [
      'customer_no number',
      'plz text',
      'active boolean',
      'grosse_cm number',
      'nd_phone text',
      'column_6 text',
      'plan text',
      'column_8 text',
      `${'x'.repeat(40)} text`,
    ],
  )
  const typeOf = (...values: string[]) => suggestTargets(['a'], [values], options)[0]?.attribute.type
  assert.deepEqual(
    [typeOf('y', 'n'), typeOf('yes'), typeOf('yes', 'no', '?'), typeOf('x', 'x'), typeOf()],
    [...['boolean', 'boolean', 'text', 'text', 'text']],
  )
  assert.deepEqual(found[6]?.target, { to: 'attribute', key: 'plan', type: 'text' })
  assert.deepEqual(found[0]?.target, { to: 'nothing' })
})

test('a thousand columns of numbers are cheap', async () => {
  const values = Array.from({ length: 100 }, (_, i) => `+1415555${1_000 + i}`)
  const header = Array.from({ length: 1_000 }, () => 'phone')
  const columns = header.map(() => values)
  await assertCheap('a thousand columns', 20, () => suggestTargets(header, columns, options), 2)
})
