package timestamptest

import (
	"bytes"
	"crypto/sha256"
	"encoding/asn1"
	"testing"
)

// Content returns the signed content (TSTInfo) of a token.
func Content(tb testing.TB, der []byte) []byte {
	tb.Helper()
	var info struct {
		Type asn1.ObjectIdentifier
		Data struct {
			Version int
			Digests asn1.RawValue
			Content struct {
				Type asn1.ObjectIdentifier
				Data []byte `asn1:"explicit,tag:0"`
			}
			Certificates asn1.RawValue `asn1:"optional,tag:0"`
			Signers      asn1.RawValue
		} `asn1:"explicit,tag:0"`
	}
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		tb.Fatal(err)
	}
	return info.Data.Content.Data
}

// Redirect makes a token for the data from look like a token for the data to. It is an attack,
// because the signature of the TSA no longer matches.
func Redirect(tb testing.TB, der, from, to []byte) []byte {
	tb.Helper()
	content := Content(tb, der)
	changed := replaceSum(content, from, to)
	if bytes.Equal(changed, content) {
		tb.Fatal("the token is about other data")
	}
	return replaceSum(bytes.Replace(der, content, changed, 1), content, changed)
}

func replaceSum(in, from, to []byte) []byte {
	old, sum := sha256.Sum256(from), sha256.Sum256(to)
	return bytes.ReplaceAll(in, old[:], sum[:])
}
