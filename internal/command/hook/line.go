package hook

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
)

const unixScheme = "unix://"

type line struct {
	tool, event string
	dataDir     string
	tenant      string
	publisher   string
	hooks       string
	timeout     time.Duration
	token       string
	isSteered   bool // the environment names the publisher, see [line.needsOwn]
}

func (l *line) needsFull() bool {
	return l.hooks != "" || l.publisher != "" && !strings.HasPrefix(l.publisher, unixScheme+"/")
}

// setTimeout ignores a short time of the environment, which can belong to the agent.
func (l *line) setTimeout(text string, isFlag bool) bool {
	d, err := time.ParseDuration(text)
	if l.timeout = d; !isFlag {
		l.timeout = max(d, hooksocket.DefaultTimeout)
	}
	return err == nil && d > 0
}

// needsOwn reports whether the publisher of the data directory must be asked besides the one that
// the environment names.
func (l *line) needsOwn() bool {
	if !l.isSteered {
		return false
	}
	_, err := os.Lstat(filepath.Join(l.dataDir, hooksocket.SocketName))
	return err == nil
}

type flags map[string]string

var (
	withValue = []string{"data-dir", "tenant", "publisher", "hooks", "timeout"}
	switches  = []string{"fail-closed", "no-redact"}
)

func parse(args []string, getenv func(string) string) (*line, bool) {
	given := flags{}
	names, ok := given.split(args)
	if !ok || len(names) == 0 || len(names) > 2 {
		return nil, false
	}
	isSteered, isTimed := given["publisher"] == "", given["timeout"] != ""
	for _, name := range slices.Concat(withValue, switches) {
		if given[name] == "" {
			given[name] = getenv("HOOKTRAIL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
		}
	}
	l := &line{
		tool: names[0], dataDir: given["data-dir"], tenant: given["tenant"], publisher: given["publisher"], hooks: given["hooks"],
		timeout: hooksocket.DefaultTimeout, token: getenv("HOOKTRAIL_TOKEN"),
		isSteered: isSteered && given["publisher"] != "",
	}
	if len(names) == 2 {
		l.event = names[1]
	}
	if text := given["timeout"]; text != "" && !l.setTimeout(text, isTimed) {
		return nil, false
	}
	l.complete()
	return l, l.dataDir != "" && given["no-redact"] == "" && strings.TrimPrefix(given["fail-closed"], "true") == ""
}

func (f flags) split(args []string) (names []string, ok bool) {
	for i := 0; i < len(args); i++ {
		name, isLong := strings.CutPrefix(args[i], "--")
		if !isLong && !strings.HasPrefix(args[i], "-") {
			names = append(names, args[i])
			continue
		}
		switch {
		case !isLong || f[name] != "":
			return nil, false
		case slices.Contains(switches, name):
			f[name] = "true"
		case slices.Contains(withValue, name) && i+1 < len(args) && args[i+1] != "":
			i++
			f[name] = args[i]
		default:
			return nil, false
		}
	}
	return names, true
}

func (l *line) complete() {
	if l.dataDir == "" {
		l.dataDir = defaultDataDir()
	}
	if l.publisher == "" && l.tenant == "" {
		l.tenant = "default" // as in the events that hooktrail-capture records
	}
}

// defaultDataDir is a copy of the function in package flagenv. Importing flagenv would link the
// large package pflag into this program.
func defaultDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hooktrail")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "share", "hooktrail")
}
