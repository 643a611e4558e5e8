// Package tracker implements the flags, help texts and output of the tracker command. The service
// itself is [github.com/hooktrail/hooktrail/internal/tracking/tracker].
package tracker
