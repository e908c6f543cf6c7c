/**
 * The switch of a network of machines (`network.ts`), as a process of its own.
 *
 * Each machine has a VXLAN device whose frames arrive here as UDP datagrams. The switch forwards them, and loses or delays those
 * of a link as the parent demands. It does this in user space because not every kernel has `netem`. A lost packet is lost without a
 * word: neither side gets a reset. ARP is never lost, so no kernel notices that a machine is unreachable.
 */
import { createSocket } from 'node:dgram'

export type Quality = {
  /** Of the packets in each direction. */
  lossPercent: number
  /** Added to every packet in each direction. */
  delayMs: number
}

export type SwitchMessage = {
  /** The address of each machine's VXLAN device in the underlying network, by its address in the network of machines. */
  underlay?: Record<string, string>
  /** By the pair of addresses, in both directions. A link that is not here is perfect. */
  links: [from: string, to: string, Quality][]
}

const port = 4789
const ethernet = 8
const ip = ethernet + 14
const ipv4 = 0x0800
const arp = 0x0806
const tcp = 6

const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024, sendBufferSize: 4 * 1024 * 1024 })
const underlay = new Map<string, string>()
const links = new Map<string, Quality>()
const counts = { forwarded: 0, lost: 0 }

process.on('message', (message: SwitchMessage) => {
  for (const [address, device] of Object.entries(message.underlay ?? {})) underlay.set(address, device)
  for (const [from, to, quality] of message.links) {
    links.set(`${from} ${to}`, quality)
    links.set(`${to} ${from}`, quality)
  }
  process.send?.({ ...counts })
})
process.on('disconnect', () => process.exit())

socket.on('message', (frame) => {
  const type = frame.readUInt16BE(ethernet + 12)
  if (type === arp) return forward(frame, addressAt(frame, ip + 24))
  if (type !== ipv4) return
  const to = addressAt(frame, ip + 16)
  const link = links.get(`${addressAt(frame, ip + 12)} ${to}`)
  if (link && Math.random() * 100 < link.lossPercent) {
    counts.lost++
    return
  }
  if (link && link.delayMs > 0) setTimeout(forward, link.delayMs, frame, to)
  else forward(frame, to)
})

function forward(frame: Buffer, to: string): void {
  const device = underlay.get(to)
  if (!device) return
  counts.forwarded++
  writeChecksum(frame)
  socket.send(frame, port, device)
}

const addressAt = (frame: Buffer, at: number): string =>
  `${frame[at]}.${frame[at + 1]}.${frame[at + 2]}.${frame[at + 3]}`

/** The kernel leaves the checksum of TCP to the device, and these devices are virtual: none of them writes it. */
function writeChecksum(frame: Buffer): void {
  if (frame.readUInt16BE(ethernet + 12) !== ipv4 || frame[ip + 9] !== tcp) return
  const headerLength = ((frame[ip] ?? 0) & 15) * 4
  const length = frame.readUInt16BE(ip + 2)
  const start = ip + headerLength
  const end = ip + length
  frame.writeUInt16BE(0, start + 16)
  let sum = tcp + length - headerLength
  for (let at = ip + 12; at < ip + 20; at += 2) sum += wordAt(frame, at)
  for (let at = start; at < end - 1; at += 2) sum += wordAt(frame, at)
  if ((end - start) % 2 === 1) sum += (frame[end - 1] ?? 0) << 8
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  frame.writeUInt16BE(~sum & 0xffff, start + 16)
}

const wordAt = (frame: Buffer, at: number): number => ((frame[at] ?? 0) << 8) | (frame[at + 1] ?? 0)

socket.bind(port, process.argv[2], () => process.send?.('ready'))
