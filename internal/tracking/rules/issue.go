package rules

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
)

// Status is the status of an issue. The values are also statuses of Beads, except Flapping.
type Status string

// The statuses of an issue.
const (
	Open       Status = "open"
	InProgress Status = "in_progress"
	Blocked    Status = "blocked"
	Closed     Status = "closed"
	// Flapping means that the issue is closed and reopened again and again. Beads has no such
	// status, so the issue is open there and has the label "flapping".
	Flapping Status = "flapping"
)

// Kind is the kind of an issue, such as a failure or a follow-up.
type Kind string

// The kinds of issues.
const (
	Tracking Kind = "tracking" // work from its start to its end
	Failure  Kind = "failure"  // failure of a run without a tracking issue
	Followup Kind = "followup" // work that a run left undone
	Alarm    Kind = "alarm"    // records that contradict each other
	Digest   Kind = "digest"   // list of items for which the rate limits did not allow an issue
)

const maxTitle = 500

// Issue is the record of an issue that the rules keep.
type Issue struct {
	ID          string    `json:"id"`
	Tenant      string    `json:"tenant"`
	Run         string    `json:"run"`
	Kind        Kind      `json:"kind"`
	Title       string    `json:"title"`
	Description string    `json:"description,omitempty"`
	Status      Status    `json:"status"`
	Reason      string    `json:"reason,omitempty"`
	Created     time.Time `json:"created"`
	Updated     time.Time `json:"updated"`
	Closed      time.Time `json:"closed,omitzero"`
	Links       []Link    `json:"links,omitempty"`
	Labels      []string  `json:"labels,omitempty"` // labels beyond the labels of the kind
	Count       int       `json:"count"`
	Runs        []string  `json:"runs,omitempty"` // runs with an occurrence, at most 20
	First       time.Time `json:"first,omitzero"`
	Last        time.Time `json:"last,omitzero"`
}

// The types of links.
const (
	DiscoveredFrom = "discovered-from" // from a follow-up to the issue of its run
	RegressionOf   = "regression-of"   // from a new issue to one closed too long ago to be reopened
)

// Link is a dependency on the issue with the given ID.
type Link struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

const idDigits = 13

// ID returns the permanent id of an issue, which is a hash of the given texts. The hash includes
// the length of each text, so that ("a", "bc") and ("ab", "c") have different ids.
func ID(tenant string, identity ...string) string {
	h := sha256.New()
	var length [8]byte
	for _, text := range append([]string{tenant}, identity...) {
		binary.BigEndian.PutUint64(length[:], uint64(len(text)))
		h.Write(length[:])
		h.Write([]byte(text))
	}
	digits := strconv.FormatUint(binary.BigEndian.Uint64(h.Sum(nil)), 36)
	return "ht-" + strings.Repeat("0", idDigits-len(digits)) + digits
}

func lineageIssue(tenant, lineage string, generation int) string {
	return ID(tenant, "lineage", lineage, strconv.Itoa(generation))
}

func failureIssue(tenant, failure string, generation int) string {
	return ID(tenant, "failure", failure, strconv.Itoa(generation))
}

func followupIssue(tenant, followup string, generation int) string {
	return ID(tenant, "followup", followup, strconv.Itoa(generation))
}

func issueTitle(c *Config, what, detail string) string {
	if detail != "" {
		what += ": " + detail
	}
	return strings.TrimSpace(c.TitlePrefix + " " + what)
}

func runTitle(c *Config, runType, id string) string {
	texts := []string{c.TitlePrefix, clean(runType, 40), "run", clean(id, 300)}
	return strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
}

func clean(s string, limit int) string { return deferred.Clean(s, limit) }

func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}
