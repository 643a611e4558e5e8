// Package tokens manages the bearer tokens of HTTP senders. A token belongs to one
// tenant.
//
// A token consists of "htk_", an id of eight hex digits, "_" and 256 random bits in base64url, for
// example "htk_1f0c2a7e_0Xk…". The token file stores only its SHA-256, so a reader of the file
// cannot send events. The file is a JSON object with mode 0600, replaced atomically under a lock.
//
// Tokens are required once the file exists, even if it contains none.
package tokens
