// Package tracker is the command line of the tracker: flags, help, progress and
// printed results. The service is [github.com/hooktrail/hooktrail/internal/tracking/tracker].
package tracker
