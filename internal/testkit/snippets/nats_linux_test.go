package snippets

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
)

// natsCommand stands in for the tool of NATS, which is not a package of Debian. It has the commands
// that the documents use, so that their names of streams, buckets and subjects are right.
func natsCommand() *cobra.Command {
	var server, seed, inbox string
	connect := func() (*nats.Conn, error) {
		var opts []nats.Option
		if seed != "" {
			key, err := nats.NkeyOptionFromSeed(seed)
			if err != nil {
				return nil, err
			}
			opts = append(opts, key)
		}
		if inbox != "" {
			opts = append(opts, nats.CustomInboxPrefix(inbox))
		}
		return nats.Connect(strings.TrimSpace(server), opts...)
	}
	stream := func() (jetstream.JetStream, error) {
		nc, err := connect()
		if err != nil {
			return nil, err
		}
		return jetstream.New(nc)
	}
	root := &cobra.Command{Use: "nats"}
	root.PersistentFlags().StringVar(&server, "server", nats.DefaultURL, "`address`")
	root.PersistentFlags().StringVar(&seed, "nkey", "", "`file` with a seed")
	root.PersistentFlags().StringVar(&inbox, "inbox-prefix", "", "`subject`")
	streams, buckets := &cobra.Command{Use: "stream"}, &cobra.Command{Use: "kv"}
	streams.AddCommand(&cobra.Command{Use: "info STREAM", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		js, err := stream()
		if err != nil {
			return err
		}
		_, err = js.Stream(cmd.Context(), args[0])
		return err
	}})
	get := &cobra.Command{Use: "get BUCKET KEY", Args: cobra.ExactArgs(2), RunE: func(cmd *cobra.Command, args []string) error {
		js, err := stream()
		if err != nil {
			return err
		}
		bucket, err := js.KeyValue(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		entry, err := bucket.Get(cmd.Context(), args[1])
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(entry.Value())
		return err
	}}
	get.Flags().Bool("raw", false, "")
	buckets.AddCommand(get)
	root.AddCommand(streams, buckets, &cobra.Command{Use: "request SUBJECT BODY", Args: cobra.ExactArgs(2), RunE: func(_ *cobra.Command, args []string) error {
		nc, err := connect()
		if err != nil {
			return err
		}
		defer nc.Close()
		answer, err := nc.Request(args[0], []byte(args[1]), limit/2)
		if err != nil {
			return err
		}
		if text := answer.Header.Get("Nats-Service-Error"); text != "" {
			return fmt.Errorf("%s: %s", text, answer.Data)
		}
		_, err = os.Stdout.Write(answer.Data)
		return err
	}})
	return root
}

const limit = 30 * time.Second // for a state that must come
