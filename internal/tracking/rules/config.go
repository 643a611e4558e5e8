package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Config contains the limits of the rules. Comments in the default configuration file explain them,
// see package configfile.
type Config struct {
	TitlePrefix string   `json:"title_prefix"`
	Tracked     []string `json:"tracked"`
	Complexity  int      `json:"complexity"`
	Signs       Signs    `json:"signs"`

	Grace          time.Duration `json:"hold"`
	Infrastructure []string      `json:"infrastructure"`
	Ordinary       []string      `json:"ordinary"`

	Storm    Limit `json:"storm"`
	Budget   Limit `json:"budget"`
	Critical Limit `json:"critical"`
	Tracking Limit `json:"tracking"`
	Loop     int   `json:"loop"`

	Followups int `json:"followups"`
	Remaining int `json:"remaining"`
	DoneWords int `json:"done_words"`

	Regression time.Duration `json:"regression"`
	Flapping   Limit         `json:"flapping"`
	Relapses   Limit         `json:"relapses,omitzero"` // zero in configurations of earlier versions
	Quiet      time.Duration `json:"quiet"`
	Stalled    time.Duration `json:"stalled"`
	Leap       time.Duration `json:"leap"`
	NotPlanned time.Duration `json:"not_planned"`

	Digest DigestConfig `json:"digest"`
}

// Limit allows at most Most events in any period of the length Within.
type Limit struct {
	Most   int           `json:"most"`
	Within time.Duration `json:"within"`
}

// Signs contains thresholds for the counts of a run, such as steps and retries. Each count that
// reaches its threshold adds 1 to [Run.Complexity].
type Signs struct {
	Steps   int   `json:"steps"`
	Retries int   `json:"retries"`
	Files   int   `json:"files"`
	Roles   int   `json:"roles"`
	Tokens  int64 `json:"tokens"`
}

// DigestConfig contains the limits for digest issues. A digest issue lists failures that got no
// separate issue, because there were too many.
type DigestConfig struct {
	Age     time.Duration `json:"age"`
	Entries int           `json:"entries"`
	Pause   time.Duration `json:"pause"`
}

const day = 24 * time.Hour

// DefaultConfig returns the default limits.
func DefaultConfig() Config {
	return Config{
		TitlePrefix: "GWI:",
		Tracked:     []string{"AUTOPILOT", "RESOLVE"},
		Complexity:  3,
		Signs:       Signs{Steps: 8, Retries: 2, Files: 8, Roles: 4, Tokens: 200_000},
		Grace:       30 * time.Second,

		Infrastructure: []string{}, Ordinary: []string{},
		Storm:      Limit{5, 10 * time.Minute},
		Budget:     Limit{12, time.Hour},
		Critical:   Limit{5, time.Hour},
		Tracking:   Limit{25, 10 * time.Minute},
		Loop:       10,
		Followups:  3,
		Remaining:  25,
		DoneWords:  75,
		Regression: 7 * day,
		Flapping:   Limit{2, 2 * time.Hour},
		Relapses:   Limit{4, day},
		Quiet:      day,
		Stalled:    2 * time.Hour,
		Leap:       7 * day,
		NotPlanned: 30 * day,
		Digest:     DigestConfig{Age: day, Entries: 50, Pause: time.Minute},
	}
}

// Hash returns a hash that identifies c in decisions. Equal configurations have equal hashes.
func (c Config) Hash() string {
	data, err := json.Marshal(c)
	if err != nil { // cannot happen, because c has only strings and numbers
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

func (c Config) tracks(runType string) bool {
	return slices.ContainsFunc(c.Tracked, func(t string) bool { return strings.EqualFold(t, runType) })
}

// FormatDuration formats d in the largest unit without a remainder, such as "7d" or "90m".
func FormatDuration(d time.Duration) string {
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if d >= unit.of && d%unit.of == 0 {
			return fmt.Sprint(int64(d/unit.of)) + unit.name
		}
	}
	return d.String()
}
