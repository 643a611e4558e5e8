package subjects

import (
	"fmt"
	"strings"
)

// CheckpointBucket names the key-value bucket of checkpoints. It has one key for
// each tenant, see [Space.CheckpointKey], and one for each lease, see
// [Space.LeaseKey].
func (s Space) CheckpointBucket() string { return s.stream("CHECKPOINTS") }

// CheckpointStream names the stream that the bucket of checkpoints is.
func (s Space) CheckpointStream() string { return "KV_" + s.CheckpointBucket() }

// AllCheckpoints is the filter of everything in the bucket.
func (s Space) AllCheckpoints() string { return s.checkpoint(">") }

// checkpoint returns the subject of a key of the bucket.
func (s Space) checkpoint(key string) string { return "$KV." + s.CheckpointBucket() + "." + key }

// CheckpointKey returns the key, and the subject, of the newest checkpoint of a
// tenant. The key is the tenant's token, which never has a dot.
func (s Space) CheckpointKey(tenant string) (key, subject string, err error) {
	if key, err = Token(tenant); err != nil {
		return "", "", fmt.Errorf("tenant id: %w", err)
	}
	return key, s.checkpoint(key), nil
}

// LeaseKey returns the key, and the subject, of the lease that auditors of the
// same tenants take turns in; durable is the durable of the one that is no
// standby.
func (s Space) LeaseKey(durable string) (key, subject string) {
	key = "lease." + durable
	return key, s.checkpoint(key)
}

// Standby names the durable of the service that stands by for the one whose
// durable is given.
func Standby(durable string) string {
	name, tenant, alone := strings.Cut(durable, "==")
	if !alone {
		return name + "-standby"
	}
	return name + "-standby==" + tenant
}

// consume adds what reading with a durable needs.
func (r *Rights) consume(s Space, durable string) {
	ev := s.EventStream()
	r.Publish = append(r.Publish,
		"$JS.API.CONSUMER.CREATE."+ev+"."+durable,
		"$JS.API.CONSUMER.DELETE."+ev+"."+durable,
		"$JS.API.CONSUMER.RESET."+ev+"."+durable,
		"$JS.API.CONSUMER.MSG.NEXT."+ev+"."+durable,
		"$JS.ACK."+ev+"."+durable+".>",
	)
}

// keepCheckpoints adds what an auditor needs of the bucket, and to stand by.
func (r *Rights) keepCheckpoints(s Space, durable string) {
	r.Publish = append(r.Publish, "$JS.API.STREAM.MSG.GET."+s.CheckpointStream(), s.AllCheckpoints())
	r.consume(s, Standby(durable))
}
