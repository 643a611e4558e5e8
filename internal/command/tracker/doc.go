// Package tracker implements the tracker command. The service is
// [github.com/hooktrail/hooktrail/internal/tracking/tracker].
package tracker
