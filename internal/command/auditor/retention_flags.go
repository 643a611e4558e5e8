package auditor

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

const (
	day     = 24 * time.Hour
	forever = "forever"
)

// ParseRetention parses a retention rule such as "tool.*=90d" or "issue.*=forever". A year has 365
// days.
func ParseRetention(text string) (ledger.RetentionRule, error) {
	kind, age, ok := strings.Cut(text, "=")
	if _, err := path.Match(kind, ""); !ok || kind == "" || err != nil {
		return ledger.RetentionRule{}, fmt.Errorf("invalid retention rule %q; want a pattern of kinds and an age, such as tool.*=90d", text)
	}
	if age == forever {
		return ledger.RetentionRule{Kind: kind}, nil
	}
	d, err := ParseAge(age)
	if err != nil || d <= 0 {
		return ledger.RetentionRule{}, fmt.Errorf("%q: invalid age %q; want 90d, 26w, 7y, 12h or %s", text, age, forever)
	}
	return ledger.RetentionRule{Kind: kind, Age: d}, nil
}

// ParseAge parses an age in hours (12h), days (90d), weeks (26w) or years (7y).
func ParseAge(text string) (time.Duration, error) {
	for unit, length := range map[string]time.Duration{"d": day, "w": 7 * day, "y": 365 * day} {
		number, ok := strings.CutSuffix(text, unit)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || n > int64(1<<62/length) {
			return 0, errors.New("not a number of days")
		}
		return time.Duration(n) * length, nil
	}
	return time.ParseDuration(text)
}

// RetentionFlags are the flags for the retention of payloads.
type RetentionFlags struct {
	rules retentionRules
	floor retentionFloor
}

// Register adds the flags to cmd.
func (r *RetentionFlags) Register(cmd *cobra.Command) {
	cmd.Flags().Var(&r.rules, "keep", retentionUsage)
	cmd.Flags().Var(&r.floor, "retention-floor", "least `age` of a record for pruning, recorded in each ledger that has a lower one: 180d, 7y")
}

// Apply copies the flags to o.
func (r *RetentionFlags) Apply(o *auditor.Options) {
	o.Retention, o.Floor = r.rules, time.Duration(r.floor)
}

type retentionRules []ledger.RetentionRule

func (k *retentionRules) String() string {
	texts := make([]string, 0, len(*k))
	for _, r := range *k {
		texts = append(texts, r.String())
	}
	return strings.Join(texts, ",")
}

// Set implements pflag.Value.
func (k *retentionRules) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		r, err := ParseRetention(part)
		if err != nil {
			return err
		}
		*k = append(*k, r)
	}
	return nil
}

// Type implements pflag.Value.
func (k *retentionRules) Type() string { return "kinds=age" }

type retentionFloor time.Duration

func (f *retentionFloor) String() string {
	if *f == 0 {
		return ""
	}
	return time.Duration(*f).String()
}

// Set implements pflag.Value.
func (f *retentionFloor) Set(text string) error {
	age, err := ParseFloor(text)
	*f = retentionFloor(age)
	return err
}

// Type implements pflag.Value.
func (f *retentionFloor) Type() string { return "age" }
