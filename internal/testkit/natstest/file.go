package natstest

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
)

// ServeFile runs a server with a configuration file until ctx is done. With check, it only checks
// the file.
func ServeFile(ctx context.Context, file string, check bool) error {
	opts, err := server.ProcessConfigFile(file)
	if err != nil || check {
		return err
	}
	opts.NoSigs = true
	srv, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	srv.ConfigureLogger()
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	if !srv.ReadyForConnections(readyTimeout) {
		return errors.New("the server is not ready")
	}
	<-ctx.Done()
	return nil
}
