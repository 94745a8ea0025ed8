// Ends the process if Node.js is too old to run TypeScript sources. This file is plain JavaScript because an older
// Node.js must be able to print the message.
if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `Node.js 24 or later is needed, and this is ${process.version} (${process.execPath}). ` +
      'On Linux `npm ci` brings it along (not with --omit=optional); elsewhere install it from https://nodejs.org.\n',
  );
  process.exit(1);
}
