import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requirePassword } from './passwords.ts'

const owner = { email: 'Ann.Smith@acme.test', name: 'Ann Smith', workspaceName: 'Acme Bakery' }

test('a common password is refused in every spelling', () => {
  const common = [
    ...['password', 'Password1', 'P@ssw0rd', 'pa55word1!', '!!password!!', 'PASSWORD 2026', 'password123456789'],
    '123password',
    ...['passwordpassword', 'Summer2026!', 'qwertyuiop', 'poiuytrewq', 'qwerty123', 'asdfghjk', 'abcdefgh'],
    'iloveyou1',
    ...['12345678', '87654321', '19841224', '24.12.1984', '555-0100-22', 'aaaaaaaa', 'abcabcabc', 'Contraseña1'],
  ]
  for (const password of common) {
    assert.throws(() => requirePassword(password, owner), /^Error: password: too common/, password)
  }
})

test('a password is not the e-mail, the name or the workspace', () => {
  for (const password of [
    ...['ann.smith', 'Ann.Smith@acme.test', 'AnnSmith1', 'ann smith 99', 'Acme Bakery', 'acmebakery!', '4cmebakery'],
  ]) {
    const refusal = /^Error: new_password: must not be your/
    assert.throws(() => requirePassword(password, owner, 'new_password'), refusal, password)
  }
})

test('other passwords are accepted, also without digits, signs or capitals', () => {
  const good = [
    ...['correct horse', 'long enough', 'a good password', 'the right one', 'my very own', 'Kx9#mPq2'],
    'password of a bakery',
    ...['summer83920174', 'пароль для пекарни', '長いパスワードです', '$7#29%&4@('],
    ...['ann smith likes tea', 'qwerty and the fish'],
  ]
  for (const password of good) assert.doesNotThrow(() => requirePassword(password, owner), password)
  for (const password of ['short', 'x'.repeat(201)]) assert.throws(() => requirePassword(password, owner), /8 to 200/)
})
