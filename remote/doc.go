// Package remote reads model files where they lie: on web servers, in object stores by presigned
// addresses, on Hugging Face's hub and in OCI registries. Only the ranges that are asked for
// are fetched.
//
// Start with [New] and [Client.Open], whose [File] is an io.ReaderAt for
// modelpatch.OpenReader; [Client.Reader] has the form of modelpatch.OpenOptions.Remote.
// Addresses are those of package address.
//
// Every answer is held against the first: its ETag (or Last-Modified) and the file's size. A file
// that changes while it is read is an error, and so is a server that compresses, sends
// other ranges than were asked for, or cuts them off. Tokens go to the server that they are for
// and to no other, wherever it redirects to. Addresses of private networks are refused, after
// names are resolved, unless [Options.AllowPrivate] is set.
//
// It writes nothing, neither to servers nor to disks.
package remote
