package publisher

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"publisher": func() { cli.Main(Command()) }})
}

// TestScripts runs each script in its own data directory.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			for _, variable := range os.Environ() {
				name, _, _ := strings.Cut(variable, "=")
				if strings.HasPrefix(name, "HOOKTRAIL_") {
					env.Setenv(name, "")
				}
			}
			env.Setenv("HOOKTRAIL_DATA_DIR", env.Cd+"/data")
			return nil
		},
	})
}
