package issues

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// Config holds the limits of the heuristics. Start from [DefaultConfig].
type Config struct {
	TitlePrefix string   `json:"title_prefix"` // stands before the title of a run's issue
	Tracked     []string `json:"tracked"`      // run types with an issue from their start
	Complexity  int      `json:"complexity"`   // from which a run gets an issue
	Followups   int      `json:"followups"`    // follow-ups for deferred work, per run
	Remaining   int      `json:"remaining"`    // follow-ups for remaining items of partial success, per run
	Signs       Signs    `json:"signs"`        // of complexity that nobody declared
}

// Signs are the values from which each measure of a run adds one to its
// computed complexity; see [Run.Complexity].
type Signs struct {
	Steps   int   `json:"steps"`
	Retries int   `json:"retries"`
	Files   int   `json:"files"`
	Roles   int   `json:"roles"`
	Tokens  int64 `json:"tokens"`
}

// DefaultConfig returns the ADR's limits.
func DefaultConfig() Config {
	return Config{
		TitlePrefix: "GWI:",
		Tracked:     []string{"AUTOPILOT", "RESOLVE"},
		Complexity:  3,
		Followups:   3,
		Remaining:   25,
		Signs:       Signs{Steps: 8, Retries: 2, Files: 8, Roles: 4, Tokens: 200_000},
	}
}

// Hash identifies c in decisions: two configurations that decide alike because
// they are equal have equal hashes.
func (c Config) Hash() string {
	data, err := json.Marshal(c)
	if err != nil { // cannot happen: c holds strings and numbers
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

func (c Config) tracks(runType string) bool { return slices.Contains(c.Tracked, runType) }
