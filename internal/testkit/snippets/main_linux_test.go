package snippets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/command/auditor"
	"github.com/hooktrail/hooktrail/internal/command/capture"
	"github.com/hooktrail/hooktrail/internal/command/hook"
	"github.com/hooktrail/hooktrail/internal/command/hooktrail"
	"github.com/hooktrail/hooktrail/internal/command/metrics"
	"github.com/hooktrail/hooktrail/internal/command/publisher"
	"github.com/hooktrail/hooktrail/internal/command/tracker"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// exitForbidden is the status of a process that may not mount or change its root folder.
const exitForbidden = 77

// programs are in the PATH of a world. Each is this test binary under another name, so that the
// commands need no build and run with the race detector.
var programs = map[string]func(){
	"auditor":           func() { cli.Main(auditor.Command()) },
	"hooktrail":         func() { cli.Main(hooktrail.Command()) },
	"hooktrail-capture": capture.Main,
	"hooktrail-hook":    hook.Main,
	"metrics":           func() { cli.Main(metrics.Command()) },
	"publisher":         func() { cli.Main(publisher.Command()) },
	"tracker":           func() { cli.Main(tracker.Command()) },
	"nats":              func() { cli.Main(natsCommand()) },
	"nats-server":       func() { cli.Main(serverCommand()) },
}

func TestMain(m *testing.M) {
	if main, ok := programs[filepath.Base(os.Args[0])]; ok {
		main()
		return
	}
	if dir := os.Getenv(worldEnv); dir != "" {
		if err := enter(dir); err != nil {
			fmt.Fprintln(os.Stderr, "enter the world:", err)
			if errors.Is(err, os.ErrPermission) {
				os.Exit(exitForbidden)
			}
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// serverCommand runs a NATS server with a configuration file, like the program of this name.
func serverCommand() *cobra.Command {
	var config string
	var check bool
	cmd := &cobra.Command{Use: "nats-server", RunE: func(cmd *cobra.Command, _ []string) error {
		return natstest.ServeFile(cmd.Context(), config, check)
	}}
	cmd.Flags().StringVarP(&config, "config", "c", "", "configuration `file`")
	cmd.Flags().BoolVarP(&check, "test", "t", false, "only check the file")
	return cmd
}
