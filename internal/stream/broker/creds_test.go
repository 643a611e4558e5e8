package broker_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

// operator runs a server that requires JWTs, and returns a user's credentials file.
func operator(t *testing.T) (url, creds string) {
	t.Helper()
	pair := func(create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		kp, err := create()
		if err != nil {
			t.Fatal(err)
		}
		public, err := kp.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return kp, public
	}
	oper, operID := pair(nkeys.CreateOperator)
	acct, acctID := pair(nkeys.CreateAccount)
	_, sysID := pair(nkeys.CreateAccount)
	user, userID := pair(nkeys.CreateUser)

	account := jwt.NewAccountClaims(acctID)
	account.Limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1, MaxAckPending: -1,
	}
	resolver := &server.MemAccResolver{}
	for id, claims := range map[string]*jwt.AccountClaims{acctID: account, sysID: jwt.NewAccountClaims(sysID)} {
		token, err := claims.Encode(oper)
		if err == nil {
			err = resolver.Store(id, token)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: t.TempDir(),
		TrustedKeys: []string{operID}, AccountResolver: resolver, SystemAccount: sysID,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})

	token, err := jwt.NewUserClaims(userID).Encode(acct)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	file, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		t.Fatal(err)
	}
	creds = filepath.Join(t.TempDir(), "user.creds")
	if err := os.WriteFile(creds, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return srv.ClientURL(), creds
}

func TestOpen_Credentials(t *testing.T) {
	url, creds := operator(t)
	if _, err := broker.Open(t.Context(), broker.Options{URL: url}); err == nil {
		t.Error("without credentials: got nil, want an error")
	}
	publish(t, open(t, broker.Options{URL: url, Login: broker.Login{Creds: creds}}))
}
