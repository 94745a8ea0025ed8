// Loads jose before each test file. jose contains only ES modules, and jwks-rsa loads it with `require('jose')`. If
// jose were not loaded yet, jest would report this call as an import cycle.
import 'jose';
