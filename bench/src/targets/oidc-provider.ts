// The peer `oidc-provider`: oidc-provider with its own adapter, which stores everything in memory.
import { serveProvider } from './provider-server.ts';
import { tokenPeerOptions } from './token-peer.ts';

await serveProvider(tokenPeerOptions());
