// Loads the ESM-only jose before each test file: jest would otherwise report the `require('jose')` of jwks-rsa as an
// import cycle.
import 'jose';
