package broker

import (
	"log/slog"
)

// IssuerFile is the name of the file of [IssuerKey], in the folder "keys" of the data directory.
const IssuerFile = "issuer" + keyEnding

// IssuerKey returns the path of the key with which the owner of a data directory enrols outboxes.
// It creates a missing key.
func IssuerKey(dataDir string) (path string, err error) { return loadKey(dataDir, "issuer") }

// Issuer returns [IssuerKey] for [publish.Options.Issuer]. If the key is not readable, Issuer logs
// a warning and returns "". Outboxes then work, but their producers are not enrolled.
func Issuer(dataDir string, logger *slog.Logger) string {
	path, err := IssuerKey(dataDir)
	if err == nil {
		_, err = publicKey(path)
	}
	if err != nil {
		if logger == nil {
			logger = slog.New(slog.DiscardHandler)
		}
		logger.Warn("producers are not enrolled, because the key of the data directory is not readable", "error", err)
		return ""
	}
	return path
}
