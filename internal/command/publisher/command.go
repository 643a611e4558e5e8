package publisher

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

// Command returns the publisher command.
func Command() *cobra.Command {
	shared := &cli.Shared{}
	cmd := cli.Group("publisher", "Take events in and send them to the stream",
		hookCommand(shared), importCommand(shared), installCommand(shared), pipeCommand(shared), pricesCommand(shared), serveCommand(shared), tokenCommand(shared), outboxCommand(shared))
	cmd.Long = "publisher takes events in and sends them to the stream, once and in order. It stores them in\n" +
		"an outbox until the broker has them, so they survive a broker that is away for a while."
	cmd.Example = "  publisher install claude-code\n  publisher import ~/.claude/projects"
	shared.Register(cmd)
	shared.CompleteFlags(cmd, map[string]cli.Values{
		"tenant": service.TenantValues(shared),
		"format": cli.Words(append(strings.Split(publisher.FormatNames(), ", "), publisher.AutoFormat)...),
	})
	return cmd
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// list makes JSON show [] instead of null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
