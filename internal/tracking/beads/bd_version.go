package beads

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

var (
	oldest  = release{1, 0, 3} // first version with answers in an envelope
	counted = release{1, 0, 5} // first version whose show needs --include-comments
)

type release [3]int

func (r release) isAfter(version string) bool {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "-")
	parts := strings.Split(version, ".")
	for n, number := range r {
		have := 0
		if n < len(parts) {
			have, _ = strconv.Atoi(parts[n])
		}
		if have != number {
			return have < number
		}
	}
	return false
}

// A versionCheck may be used by several goroutines.
type versionCheck struct {
	runner *runner

	mu      sync.Mutex // guards version. Holders take no other lock
	version string
}

func (c *versionCheck) check(ctx context.Context, dir string) error {
	if c.known() != "" {
		return nil
	}
	a, err := c.runner.call(ctx, dir, "version", "--json")
	if err != nil {
		return err
	}
	var v struct {
		Version string `json:"version"`
	}
	if a.data(&v) != nil {
		_ = json.Unmarshal(a.stdout, &v) // older versions have no envelope
	}
	if v.Version == "" || a.code != 0 {
		return fmt.Errorf("%s is another program than the Beads CLI (it does not answer to bd version --json); name the Beads CLI with --bd: %w",
			c.runner.path, ErrUnavailable)
	}
	if oldest.isAfter(v.Version) {
		return fmt.Errorf("%s is Beads %.20q, but %d.%d.%d or later is required; name a newer one with --bd: %w",
			c.runner.path, v.Version, oldest[0], oldest[1], oldest[2], ErrUnavailable)
	}
	c.set(v.Version)
	return nil
}

// forget makes the next check ask bd again, because a user may have replaced bd.
func (c *versionCheck) forget() { c.set("") }

func (c *versionCheck) needsCommentFlag() bool { return !counted.isAfter(c.known()) }

func (c *versionCheck) known() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

func (c *versionCheck) set(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = version
}
