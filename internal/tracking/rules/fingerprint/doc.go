// Package fingerprint finds the common form of an error: two reports with the same
// fingerprint have the same cause.
//
// [Normalise] removes ids, times and numbers from a message. [Class] turns the class of
// an infrastructure error into words, and [ClassInText] finds such a class in a
// message. All functions are pure and bound the text that they read.
package fingerprint
