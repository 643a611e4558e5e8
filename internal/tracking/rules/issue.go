package rules

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
	"time"
)

// Status is where an issue stands, in the words of Beads.
type Status string

// The statuses of an issue.
const (
	Open       Status = "open"
	InProgress Status = "in_progress"
	Blocked    Status = "blocked"
	Closed     Status = "closed"
	// Flapping is no status of Beads: there it is Open, with the label of this name.
	Flapping Status = "flapping"
)

// Kind says what an issue is about.
type Kind string

// The kinds of issues.
const (
	Tracking Kind = "tracking" // follows work from its start to its end
	Failure  Kind = "failure"  // something that failed while nothing followed it
	Followup Kind = "followup" // work that a run left over
	Digest   Kind = "digest"   // lists what there was no room for
)

// maxTitle bounds the runes of a title, as Beads does.
const maxTitle = 500

// Issue is an issue as the heuristics know it.
type Issue struct {
	ID          string    `json:"id"`
	Tenant      string    `json:"tenant"`
	Run         string    `json:"run"`
	Kind        Kind      `json:"kind"`
	Title       string    `json:"title"`
	Description string    `json:"description,omitempty"`
	Status      Status    `json:"status"`
	Reason      string    `json:"reason,omitempty"` // why it has its status
	Created     time.Time `json:"created"`
	Updated     time.Time `json:"updated"`
	Closed      time.Time `json:"closed,omitzero"`
	Links       []Link    `json:"links,omitempty"`
	Labels      []string  `json:"labels,omitempty"` // beside those that all issues of its kind have
	Count       int       `json:"count"`            // occurrences
	Runs        []string  `json:"runs,omitempty"`   // of occurrences, the first 20
	First       time.Time `json:"first,omitzero"`   // occurrence
	Last        time.Time `json:"last,omitzero"`    // occurrence
}

// The types of links.
const (
	DiscoveredFrom = "discovered-from" // a follow-up, to the issue of the run that left it over
	RegressionOf   = "regression-of"   // a failure, to the issue that was closed too long ago to be reopened
)

// Link is a dependency between issues.
type Link struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// idDigits is the length of an id without its prefix: 64 bits in base 36.
const idDigits = 13

// ID returns the issue id that belongs to an identity in tenant: "ht-" and 13
// digits of base 36, the same for ever. Parts are length-prefixed, so that
// ("a", "bc") and ("ab", "c") differ.
func ID(tenant string, identity ...string) string {
	h := sha256.New()
	var length [8]byte
	for _, part := range append([]string{tenant}, identity...) {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	digits := strconv.FormatUint(binary.BigEndian.Uint64(h.Sum(nil)), 36)
	return "ht-" + strings.Repeat("0", idDigits-len(digits)) + digits
}
