// Package tracker has the flags, help and output of the tracker command. The service is
// [github.com/hooktrail/hooktrail/internal/tracking/tracker].
package tracker
