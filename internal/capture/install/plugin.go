package install

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

//go:embed opencode.js
var openCodePlugin string

func (c *Change) planPlugin(opts Options) error {
	marker, _, _ := strings.Cut(openCodePlugin, "\n")
	if c.exists && !bytes.HasPrefix(c.before, []byte(marker)) {
		return fmt.Errorf("%s: not written by this program; move the file away first", c.File)
	}
	if opts.Uninstall {
		c.removed = true
		return nil
	}
	quoted := func(s string) string {
		text, err := json.Marshal(s)
		if err != nil {
			return "null" // unreachable: every string can be encoded
		}
		return string(text)
	}
	failClosed := strconv.FormatBool(opts.failClosed())
	c.after = []byte(strings.NewReplacer(
		"{{HOOK}}", quoted(opts.Program+" hook "+c.Tool), "{{FLAGS}}", quoted(opts.Flags), "{{FASTER}}", quoted(opts.Hook),
		"{{PATIENCE}}", fmt.Sprint(milliseconds(opts.Timeout)), "{{FAIL_CLOSED}}", failClosed,
		"{{MISSING}}", quoted(closedReason(opts.Program, c.Tool)),
	).Replace(openCodePlugin))
	return nil
}

// pluginLine must return the same line as commandLine in opencode.js.
func pluginLine(hook, faster, event, flags string) string {
	line := strings.TrimSpace(hook + " " + event + " " + flags)
	if faster == "" {
		return line
	}
	return ifFound + faster + then + strings.TrimSpace(faster+" opencode "+event+" "+flags) + orElse + line + end
}
