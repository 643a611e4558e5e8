// Package tracker implements the tracker command, which starts the service in package
// [github.com/hooktrail/hooktrail/internal/tracking/tracker].
package tracker
