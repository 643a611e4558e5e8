package configfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
)

const day = 24 * time.Hour

// Default returns the content of the default configuration file. Its comments explain each limit.
func Default() string {
	c := rules.DefaultConfig()
	var b strings.Builder
	b.WriteString("# Limits of the tracker's rules. A missing limit keeps its default.\n")
	section := ""
	for _, f := range fields {
		name, indent := f.path, ""
		if outer, inner, nested := strings.Cut(f.path, "."); nested {
			name, indent = inner, "  "
			if outer != section {
				fmt.Fprintf(&b, "%s:\n", outer)
			}
			section = outer
		}
		fmt.Fprintf(&b, "%s# %s\n%s%s: %s\n", indent, f.about, indent, name, sample(f.at(&c)))
	}
	return b.String()
}

func sample(value any) string {
	switch v := value.(type) {
	case *string:
		return strconv.Quote(*v)
	case *[]string:
		words := make([]string, len(*v))
		for i, w := range *v {
			words[i] = strconv.Quote(w)
		}
		return "[" + strings.Join(words, ", ") + "]"
	case *time.Duration:
		return rules.FormatDuration(*v)
	case *int:
		return strconv.Itoa(*v)
	case *int64:
		return strconv.FormatInt(*v, 10)
	}
	return ""
}

func parseDuration(s string) (time.Duration, error) {
	days, ok := strings.CutSuffix(s, "d")
	if !ok {
		d, err := time.ParseDuration(s)
		if err == nil && (d < 0 || d > 10*365*day) {
			return 0, errors.New("out of range")
		}
		return d, err
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil || n > 3650 {
		return 0, errors.New("out of range")
	}
	return time.Duration(n) * day, nil
}
