package hooktrail

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

func natsCommand(shared *cli.Shared) *cobra.Command {
	return cli.Group("nats", "Prepare your own NATS server", natsConfCommand(shared), natsCredsCommand(shared), natsInitCommand(shared))
}

func natsConfCommand(shared *cli.Shared) *cobra.Command {
	return &cobra.Command{
		Use:   "conf",
		Short: "Print accounts and users for the configuration of a nats-server",
		Long: `Print the accounts block of a nats-server configuration. It has the owner, who creates
the streams, each service with exactly the rights that it needs, and the tenants of
"hooktrail tenant add". All of them use keys. The seeds are in DATA/nats/keys, and the
command creates missing ones. With --tenant the consumers get the durables of services
that serve that tenant only.`,
		Example: `  hooktrail nats conf > accounts.conf
  auditor serve --nats-url nats://nats:4222 --nats-nkey DATA/nats/keys/auditor.nk`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			users, err := broker.ConfUsers(shared.DataDir, subjects.Space{}, shared.Tenant)
			if err != nil {
				return err
			}
			return broker.WriteConf(cmd.OutOrStdout(), subjects.Space{}, users)
		},
	}
}

func natsCredsCommand(shared *cli.Shared) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "creds",
		Short: "Write the accounts file and the seeds of all users into folders",
		Long: `Write the accounts of "hooktrail nats conf" to DIR/nats/accounts.conf, which
deploy/nats.conf includes, and the seed of each user to DIR/NAME/NAME.nk. The users are
owner, publisher, auditor, tracker, metrics, reader and decide. Give each service its own
folder only, and the server the folder nats. Only you can read the files.

The keys are those of the data directory. The command creates missing keys and keeps the
others, so it writes the same files again. Run it again after "hooktrail tenant add" or
"tenant remove", and reload the server (SIGHUP). To replace a key, remove its file in
DATA/nats/keys first.`,
		Example: `  hooktrail nats creds --dir /etc/hooktrail/nats
  auditor serve --nats-url nats://nats:4222 --nats-nkey /etc/hooktrail/nats/auditor/auditor.nk`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return cli.Usage("--dir: name the folder for the credentials")
			}
			written, err := broker.WriteCredentials(shared.DataDir, dir, subjects.Space{}, shared.Tenant)
			if err != nil {
				return err
			}
			return cli.Print(cmd, shared, written, func(w io.Writer) {
				for _, c := range written {
					fmt.Fprintf(w, "%-10s %s\n", termtext.Printable(c.User), termtext.Printable(c.File))
				}
			})
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`folder` for the accounts file and the seeds; created if it is missing")
	return cmd
}

type initialized struct {
	URL     string   `json:"url"`
	Streams []string `json:"streams"`
	Drift   []string `json:"drift"` // settings of existing streams that differ
}

func natsInitCommand(shared *cli.Shared) *cobra.Command {
	var size int64
	var replicas int
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create the streams",
		Long: `Create missing streams with the rights of the owner, so that the services do not need
this right. Existing streams stay as they are, and the command prints each setting that
differs.`,
		Example: `  hooktrail nats init --nats-url nats://nats:4222 --nats-nkey DATA/nats/keys/owner.nk
  hooktrail nats init --nats-url nats://context:cluster --replicas 3 --max-bytes 107374182400`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if size < 0 || replicas < 1 || replicas > 5 {
				return cli.Usage("--max-bytes is %d, want 0 or more; --replicas is %d, want 1 to 5", size, replicas)
			}
			o := service.Broker(cmd, shared, subjects.Owner)
			o.Name, o.StreamMaxBytes, o.Replicas = "hooktrail nats init", size, replicas
			if o.URL != "" {
				o.DataDir = "" // preparing a server must not bind it to the data directory
			}
			return broker.Use(cmd.Context(), o, func(b *broker.Broker) error {
				space := b.Space()
				out := initialized{
					URL:     b.URL(),
					Streams: []string{space.EventStream(), space.DeadLetterStream(), space.AdvisoryStream(), space.CheckpointStream()},
					Drift:   append([]string{}, b.Drift()...),
				}
				return cli.Print(cmd, shared, out, func(w io.Writer) {
					for _, s := range out.Streams {
						fmt.Fprintln(w, s)
					}
					for _, d := range out.Drift {
						fmt.Fprintf(w, "differs: %s\n", termtext.Printable(d))
					}
				})
			})
		},
	}
	cmd.Flags().Int64Var(&size, "max-bytes", 0, "`bytes` that the stream of events may hold when it is created; 0 is 10 GiB, at the embedded server a share of the disk")
	cmd.Flags().IntVar(&replicas, "replicas", 1, "`servers` of a cluster that keep each created stream")
	return cmd
}
