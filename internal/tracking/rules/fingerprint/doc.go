// Package fingerprint finds the common form of an error. Reports with the same fingerprint count
// as the same error. All functions are pure and bound the text that they read.
package fingerprint
