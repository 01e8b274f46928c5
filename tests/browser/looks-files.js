// Files that browsers show, made of numbers: an image and a font.

import { deflateSync } from "node:zlib";

const TABLE = [...Array(256).keys()].map((n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value >>> 0;
});

/** The check sum of PNG and gzip. */
export function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = TABLE[(sum ^ byte) & 255] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

const u16 = (...values) => Buffer.concat(values.map((value) => Buffer.from([(value >> 8) & 255, value & 255])));
const u32 = (...values) => Buffer.concat(values.map((value) => u16(Math.floor(value / 65536), value % 65536)));

/** An image of stripes in two colours. */
export function png(hue, width, height) {
  const colours = [0, 120].map((turn) => [0, 120, 240].map((part) => 128 + Math.round(110 * Math.cos(((hue + turn + part) * Math.PI) / 180))));
  const row = (y) => [0, ...[...Array(width).keys()].flatMap((x) => colours[(Math.floor((x + y) / 8) + (y > height / 2)) % 2])];
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    return Buffer.concat([u32(data.length), body, u32(crc32(body))]);
  };
  const head = Buffer.concat([u32(width, height), Buffer.from([8, 2, 0, 0, 0])]);
  const rows = Buffer.from([...Array(height).keys()].flatMap(row));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

/** A TrueType font whose A, B and C are blocks of three heights. */
export function font(number) {
  const block = (height) => Buffer.concat([u16(1, 50, 0, 550, height, 3, 0), Buffer.from([1, 1, 1, 1]), u16(50, 0, 500, 0), u16(0, height, 0, 65536 - height)]);
  const glyphs = [300, 800, 500, 300 + 100 * number].map(block);
  const offsets = glyphs.map((_, index) => glyphs.slice(0, index).reduce((sum, glyph) => sum + glyph.length, 0));
  const end = offsets.at(-1) + glyphs.at(-1).length;
  const name = Buffer.from("Blocks", "utf16le").swap16();
  const tables = {
    "OS/2": Buffer.concat([u16(3, 600, 400, 5, 0, 650, 600, 0, 75, 650, 600, 0, 350, 50, 250, 0), Buffer.alloc(10), u32(1, 0, 0, 0), Buffer.from("NONE"), u16(64, 65, 67, 800, 65336, 0, 1000, 200), u32(1, 0), u16(500, 800, 0, 32, 1)]),
    cmap: Buffer.concat([u16(0, 1, 3, 1), u32(12), u16(4, 32, 0, 4, 4, 1, 0, 67, 65535, 0, 65, 65535, 65536 - 64, 1, 0, 0)]),
    glyf: Buffer.concat(glyphs),
    head: Buffer.concat([u32(0x10000, 0x10000, 0, 0x5f0f3cf5), u16(3, 1000), Buffer.alloc(16), u16(0, 0, 600, 800, 0, 8, 2, 1, 0)]),
    hhea: Buffer.concat([u32(0x10000), u16(800, 65336, 0, 600, 0, 0, 600, 1, 0, 0, 0, 0, 0, 0, 0, 4)]),
    hmtx: u16(600, 50, 600, 50, 600, 50, 600, 50),
    loca: u32(...offsets, end),
    maxp: Buffer.concat([u32(0x10000), u16(4, 4, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0)]),
    name: Buffer.concat([u16(0, 4, 54), ...[1, 2, 4, 6].map((id) => u16(3, 1, 0x409, id, name.length, 0)), name]),
    post: Buffer.concat([u32(0x30000, 0), u16(0, 50), u32(0, 0, 0, 0, 0)]),
  };
  let at = 12 + 16 * Object.keys(tables).length;
  const [directory, bodies] = [[], []];
  for (const [tag, table] of Object.entries(tables)) {
    const padded = Buffer.concat([table, Buffer.alloc(-table.length & 3)]);
    let sum = 0;
    for (let word = 0; word < padded.length; word += 4) sum = (sum + padded.readUInt32BE(word)) % 2 ** 32;
    directory.push(Buffer.from(tag), u32(sum, at, table.length));
    bodies.push(padded);
    at += padded.length;
  }
  return Buffer.concat([u32(0x10000), u16(bodies.length, 128, 3, bodies.length * 16 - 128), ...directory, ...bodies]);
}
