// Package fingerprint decides which errors are the same. It computes a normal form of each error,
// without varying parts such as ids. Errors with equal forms count as the same error.
//
// All functions are pure and read a limited amount of text.
package fingerprint
