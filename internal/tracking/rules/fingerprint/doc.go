// Package fingerprint computes a normal form of errors. Equal forms count as the same error. All
// functions are pure and read a limited amount of text.
package fingerprint
