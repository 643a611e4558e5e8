package publisher

import (
	"fmt"
	"io"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const spoolName = "hook-spool"

func spooledOutboxes(dataDir string, names []string) (list []publisher.Outbox, err error) {
	if len(names) > 0 {
		return nil, nil
	}
	spooled, err := hookclient.Waiting(dataDir)
	for _, s := range spooled {
		o := publisher.Outbox{
			Name: spoolName, Destination: s.Publisher, Waiting: s.Events, Bytes: s.Bytes, DiskSize: s.Bytes,
			Tenants: map[string]uint64{}, Gaps: []publish.Gap{}, Kept: []string{},
		}
		if !s.Oldest.IsZero() {
			o.Oldest = &s.Oldest
		}
		list = append(list, o)
	}
	return list, err
}

func printSpooled(w io.Writer, o publisher.Outbox) {
	fmt.Fprintf(w, "%s: %s, %d bytes", o.Name, count(int(o.Waiting), "event waits", "events wait"), o.Bytes)
	if o.Oldest != nil {
		fmt.Fprintf(w, ", the oldest of %s", o.Oldest.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(w, "; %s\n", destination(o.Destination))
}

func destination(url string) string {
	if url == "" {
		return "for this data directory, publisher outbox flush sends them"
	}
	url = termtext.Printable(url)
	return fmt.Sprintf("for the publisher %s, publisher outbox flush --publisher %s sends them", url, termtext.ShellQuote(url))
}

func printRemote(w io.Writer, dataDir string) {
	spooled, err := spooledOutboxes(dataDir, nil)
	if err != nil {
		return // status reports it
	}
	for _, o := range spooled {
		if o.Destination != "" {
			printSpooled(w, o)
		}
	}
}
