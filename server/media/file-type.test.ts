import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { typeOfBytes } from './file-type.ts'

const of = (...parts: (string | number[])[]) =>
  typeOfBytes(Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part)))))

test('the type of a file follows from its first bytes', () => {
  assert.equal(of([0xff, 0xd8, 0xff, 0xe0]), 'image/jpeg')
  assert.equal(of([0x89], 'PNG\r\n', [0x1a, 0x0a], 'IHDR'), 'image/png')
  assert.equal(of('GIF89a'), 'image/gif')
  assert.equal(of('RIFF', [1, 2, 3, 4], 'WEBPVP8 '), 'image/webp')
  assert.equal(of('OggS', [0, 2]), 'audio/ogg')
  assert.equal(of('ID3', [4, 0]), 'audio/mpeg')
  assert.equal(of([0xff, 0xfb, 0x90, 0x64]), 'audio/mpeg')
  assert.equal(of([0xff, 0xf1, 0x50, 0x80]), 'audio/aac')
  assert.equal(of([0, 0, 0, 24], 'ftypisom'), 'video/mp4')
  assert.equal(of([0, 0, 0, 24], 'ftypM4A '), 'audio/mp4')
  assert.equal(of([0, 0, 0, 24], 'ftyp3gp4'), 'video/3gpp')
  assert.equal(of('%PDF-1.7'), 'application/pdf')
})

test('files that a page could run, and truncated ones, have no type', () => {
  for (const text of [
    ...['<html>', '<!doctype html>', '<svg xmlns="x">', '<?xml version="1.0"?>', 'alert(1)', 'RIFF', 'OggS', ''],
  ]) {
    assert.equal(of(text), undefined, text)
  }
  assert.equal(of([0xff, 0xfe], '<\0h\0t\0m\0l\0'), undefined, 'UTF-16 begins like a sound')
  fc.assert(fc.property(fc.string(), (text) => assert.equal(of(`<${text}`), undefined)))
})
