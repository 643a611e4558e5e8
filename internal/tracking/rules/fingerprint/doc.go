// Package fingerprint decides which errors count as the same error. It computes a normal form of
// each error, without varying parts such as ids, and compares these forms.
//
// All functions are pure and read a limited amount of text.
package fingerprint
