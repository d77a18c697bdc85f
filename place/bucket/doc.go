// Package bucket provides buckets of object stores as a [place.Place]: Amazon S3 and the stores that speak its
// protocol, Google Cloud Storage, and Azure Blob Storage.
//
//	b, err := bucket.Open(ctx, "s3://backups/orders/?region=eu-central-1", bucket.Config{})
//
// The names in the place are the keys of objects below the prefix of the URL. Its directories are the prefixes of keys
// up to a slash: they exist while there is an object below them. If an object and a directory have the same name, Open
// opens the object, and ReadDir lists only it. Names with a backslash, a control character, "../" or "__0x" in them are
// refused with [io/fs.ErrInvalid], since stores and their libraries take them for others. In keys of Azure, gocloud
// writes each of the characters "#%? as __0x and its number.
//
// # URLs
//
//	s3://bucket/prefix/?region=REGION&endpoint=URL&path_style=BOOL
//	gs://bucket/prefix/?endpoint=URL
//	azblob://container/prefix/?account=NAME&endpoint=URL
//	file:///directory
//
// Google Cloud Storage needs a program that was built with -tags gcs: the vendor's library takes more memory than all
// else in a program that uses no bucket.
//
// The prefix and all parameters are optional, and there are no others. The parameter endpoint names another server than
// the vendor's, as http://host:port or https://host:port; Azure's has the account as its path. With an endpoint, S3
// has the bucket in the path of requests unless path_style is false, and the region us-east-1 unless one is configured.
// A directory is opened by [culvert/place/dir].
//
// # Credentials
//
// A URL never contains credentials: Open refuses it. They are found where the tools of each cloud find them:
//
//	S3       AWS_ACCESS_KEY_ID and the like, ~/.aws/config and ~/.aws/credentials with AWS_PROFILE, SSO,
//	         web identity tokens, the roles of containers and instances
//	Google   GOOGLE_APPLICATION_CREDENTIALS, gcloud auth application-default login, workload identity, the instance;
//	         none if the endpoint has no TLS, or with STORAGE_EMULATOR_HOST
//	Azure    AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN;
//	         else AZURE_CLIENT_ID and the like, workload identity, managed identity, az login
//
// # Writing
//
//	Write ──▶ part being filled ──▶ SHA-256 ──▶ request 1 ──┐
//	                                SHA-256 ──▶ request 2 ──┼──▶ parts in the store ──▶ complete, if the name is free
//	                                SHA-256 ──▶ request 3 ──┘    (no object yet)        ──▶ object
//
// A file that fits into one part is sent with one request when it is committed. A larger one is an upload of several
// parts, Config.Parallel of which are sent at once, over all files of the place. A part is kept in memory until the
// store has confirmed it, so that it can be sent again. The object appears when the upload is completed. If the process
// is killed before, there is no object.
//
// Part n of a file has
//
//	max(Config.PartSize, what was written before it / 1250)
//
// bytes, at most 4000 MiB, so that an object of 5 TiB has fewer than 10,000 parts, the limit of S3. Up to 1250 ×
// PartSize, which is 9.8 GiB by default, all parts are equal. Writing takes at most
//
//	the size of a part × (Config.Parallel + files under construction)
//
// of memory: 32 MiB by default for one file. A file of less than 1 MiB takes at most twice its size. Google Cloud
// Storage takes one part after the other, and its library copies each: two parts for a file.
//
// # Reading
//
// ReadAt requests exactly its range. Read requests ranges of up to 4 MiB ahead, Config.Parallel at once, so that a file
// that is read from its beginning to its end takes (Config.Parallel + 1) × 4 MiB. The first range is smaller, and files
// of which only the beginning is read cost little more than that. WriteTo, which io.Copy uses, does not copy.
//
//	Open ──▶ size and version ──▶ ranges of that version only ──▶ length and version compared ──▶ Read, in order
//
// All data of an open file is of the version that it had when it was opened. If the object is replaced, reading fails
// with [place.ErrChanged]. Sys of a file's information, also in a listing, is this [place.Version].
//
// # What each store promises
//
//	                         S3                            Google                     Azure
//	a part is damaged        SHA-256 of each part, also    CRC-32C of the object,     CRC-64 of each block,
//	on the way               signed; verified by the       made by the library;       verified by the store
//	                         store, which keeps it         verified by the store
//	the object is whole      size and mark are compared    CRC-32C                    size and mark are compared
//	                         after the upload                                         after the upload
//	Create of a name that    If-None-Match: * on put       generation 0               If-None-Match: * on put
//	exists fails             and complete                                             and commit
//	version of a reader      ETag, in If-Match and         generation                 ETag, in If-Match and
//	                         in every answer                                          in every answer
//	unfinished uploads       are removed, see below        vanish after a week        vanish after a week
//
// The SHA-256 is computed once, for the signature and for the header x-amz-checksum-sha256. A store of another vendor
// that refuses this header is not sent it again. Then only TLS protects parts, unless the store verifies the hash of
// the signature, which not all do. A store that answers 501 to If-None-Match gets a request without it if the name is
// still free, so that only the moment between these two requests is unprotected. A store that ignores the header
// overwrites. Emulators promise less: fake-gcs-server does not verify CRC-32C.
//
// # Unfinished uploads
//
// Discard aborts an upload, and so does the end of the context. Only a process that was killed, or has lost its store,
// leaves the parts of an upload in S3, where they have no name but cost money. When the upload of several parts begins,
// unfinished uploads of the same key are aborted if they were begun, and received their last part, more than
// Config.Abandoned ago. So neither the upload of another program under another key is touched, nor that of a process
// that is still sending. For keys that are never written again, a lifecycle rule (AbortIncompleteMultipartUpload) of
// the bucket does the same.
//
// # Failures
//
// A request is repeated if its connection breaks, if its answer is short or damaged, and if the store answers with a
// status that asks for that (500, 503 SlowDown). Pauses grow to 5 seconds and are random. It fails with
// [place.ErrUnreachable] if that has lasted for Config.Timeout: a read that receives bytes goes on. A connection on
// which nothing moves for half of that is given up. The error wraps [place.ErrIntegrity] if what the store sends or
// stores is not what it should be, and [place.ErrRefused] if it refuses. Errors never contain the URL of a request,
// which may be signed.
package bucket
