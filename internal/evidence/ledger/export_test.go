package ledger

// OpenCopied opens a copy of the file and its log, as OpenFile does on a read-only disk.
func OpenCopied(path string) (f *File, folder string, err error) {
	if f, err = openCopy(path); err != nil {
		return nil, "", err
	}
	return f, f.copy, nil
}
