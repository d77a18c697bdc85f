// Package bucket opens buckets of object stores as a [place.Place]: of Amazon S3 and stores that speak its protocol, of
// Google Cloud Storage, and of Azure Blob Storage.
//
//	b, err := bucket.Open(ctx, "s3://backups/orders/?region=eu-central-1", bucket.Config{})
//
// The key of an object is the prefix of the URL followed by the name in the place. A directory is a prefix of keys that
// ends at a slash: it exists while an object is below it. If an object and a directory have the same name, Open opens
// the object, and ReadDir lists only the object. Names that contain a backslash, a character below U+0020, U+FFFE,
// U+FFFF, "../" or "__0x" are refused with [io/fs.ErrInvalid], because stores and their libraries map them to other
// keys, or cannot list them. Objects with such names, and others that no name leads to, such as those with the keys
// "a//b" or "a/../b", or below an object's name and a slash, are not listed: ReadDir counts them in a
// [place.UnnamableError], which follows the last entries. A few stores of S3 list a key that XML cannot hold under
// another name, which cannot be opened.
//
// On Azure, each of the characters " # % ? and U+007F is written as __0x22__ and the like, with its number in
// hexadecimal, as gocloud.dev/blob does. An object whose name has one of these characters as it is, because another
// tool has written it, counts as one that no name leads to.
//
// # URLs
//
//	s3://bucket/prefix/?region=REGION&endpoint=URL&path_style=BOOL
//	gs://bucket/prefix/?endpoint=URL
//	azblob://container/prefix/?account=NAME&endpoint=URL
//	file:///directory
//
// The prefix and all parameters are optional. Other parameters are errors. The parameter endpoint names another server
// than the vendor's, as http://host:port or https://host:port. On Azure, its path is the account. With an endpoint,
// requests to S3 have the bucket in their path unless path_style is false, and the region is us-east-1 unless one is
// configured. [culvert/place/dir] opens the directory of a file URL.
//
// # Credentials
//
// Open refuses URLs that contain credentials. It finds credentials where the tools of each cloud do:
//
//	S3       AWS_ACCESS_KEY_ID and the like, ~/.aws/config and ~/.aws/credentials with AWS_PROFILE, SSO,
//	         web identity tokens, the roles of containers and instances
//	Google   GOOGLE_APPLICATION_CREDENTIALS, gcloud auth application-default login, workload identity, the instance;
//	         none if the endpoint has no TLS, or with STORAGE_EMULATOR_HOST
//	Azure    AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN;
//	         else AZURE_CLIENT_ID and the like, workload identity, managed identity, az login
//
// Without credentials, requests fail at once, with [place.ErrRefused] and [io/fs.ErrPermission]. If there were some
// before, as in a long upload with the role of an instance, a request waits for new ones as for the store, until
// Config.Timeout.
//
// # Writing
//
//	Write ──▶ part being filled ──▶ checksum ──▶ request 1 ──┐
//	                                checksum ──▶ request 2 ──┼──▶ parts in the store ──▶ complete, if the name is free
//	                                checksum ──▶ request 3 ──┘    (no object yet)        ──▶ object
//
// Commit sends a file that fits into one part with one request. A larger file is an upload of several parts. All files
// of the place together send Config.Parallel parts at once. A part stays in memory until the store has confirmed it, so
// that it can be sent again. The object appears when the upload is completed. A process that is killed before that
// leaves no object.
//
// Of the parts of a file, which count from 1,
//
//	part n has min(Config.PartSize × 2^⌈max(0, n − 3200) / 640⌉, 4000 MiB)
//
// so that an object of 5 TiB has fewer than 10,000 parts, the limit of S3. By default, the parts of the first 25 GiB
// have 8 MiB, those of the next 10 GiB 16 MiB, those of the next 20 GiB 32 MiB, and so on. Writing takes at most
//
//	the size of a part × (Config.Parallel + files under construction)
//
// of memory: 32 MiB by default for one file of up to 25 GiB, whatever its size. When the size of parts doubles, the
// memory of the smaller ones may stay until the next collection, half as much again. A file of less than 1 MiB takes at
// most twice its size. Google Cloud Storage accepts only one part of a file at a time. There, a file takes two parts:
// one is sent while the next is filled.
//
// # Reading
//
// ReadAt requests exactly its range. Read requests up to Config.Parallel ranges ahead, of up to 8 MiB each. So a file
// that is read in order takes (Config.Parallel + 1) × 8 MiB of memory. The first range is only 1 MiB, for programs that
// read only the beginning of a file. WriteTo, which io.Copy uses, writes from these buffers without a copy.
//
//	Open ──▶ size and version ──▶ ranges of that version only ──▶ length and version compared ──▶ Read, in order
//
// An open file returns only data of the version that was opened. If the object is replaced, reading fails with
// [place.ErrChanged]. The Sys method of a file's information, also in a listing, returns its [place.Version].
//
// # Checksums
//
// [place.SumOf] returns the checksum that the store keeps of an object. On S3 it is a CRC-64/NVME, CRC-32C, CRC-32 or
// SHA-256, on Google Cloud Storage a CRC-32C, and on Azure an MD5, which large objects may lack. Open requests it
// together with the size.
//
// This package writes objects of S3 with a CRC-64/NVME of the whole object. Each part is hashed while others are sent.
// The checksum of the object is computed from those of the parts, and sent with the request that completes it:
//
//	checksum of part 1 ──▶ compared by the store, and with its answer ──┐
//	checksum of part 2 ──▶ compared by the store, and with its answer ──┴─▶ checksum of the object ──▶ the same
//
// On S3, the checksum of an object of others may be one of the checksums of parts. Then SumOf requests the size of each
// part but the last, Config.Parallel at a time. If the store does not tell them, there is no checksum: sizes are never
// guessed. An ETag is never taken for an MD5, since it need not be one.
//
// [place.IsVerified] reports whether the store has returned the checksum that was sent: on Google Cloud Storage that of
// the object, on S3 that of the object or of each part, on Azure that of each part.
//
// # Metadata
//
// Each object has a random mark of the upload that made it (culvertupload). If [place.SetSourceTime] was called, it
// also has the time of the source (culverttime), as RFC 3339 with nanoseconds, which [place.SourceTimeOf] returns.
//
// # What each store promises
//
//	                         S3                            Google                     Azure
//	a part is damaged        CRC-64 of each part,          CRC-32C of the object,     CRC-64 of each block,
//	on the way               verified by the store         verified by the store      verified by the store
//	                                                       before the object appears
//	the object is whole      CRC-64 of the object,         the CRC-32C in the answer  size and mark are compared
//	                         verified by the store, which  is compared                after the upload
//	                         keeps it; its answer is
//	                         compared
//	Create of a name that    If-None-Match: * on put       generation 0               If-None-Match: * on put
//	exists fails             and complete                                             and commit
//	version of a reader      ETag, in If-Match and         generation                 ETag, in If-Match and
//	                         in every answer                                          in every answer
//	unfinished uploads       are removed, see below        are ended, or vanish       vanish after a week
//	                                                       after a week
//
// If a store of another vendor refuses the headers of CRC-64, they are not sent to it again. It gets the SHA-256 of
// each part instead, of which it keeps the SHA-256. If it refuses this too, it gets no checksum. The other parts of an
// upload that has begun with a checksum are sent without one. If a store returns another checksum of the object than it
// was sent, the object is removed, and the write fails with [place.ErrIntegrity]. If it returns no checksum of the
// object, the object's size and mark are compared: that takes another request.
//
// Without TLS, requests are signed with the SHA-256 of their data, too. With TLS, the signature contains the CRC-64
// instead, which saves most of the processor time; only if the store has refused it, the SHA-256 is signed. Where
// neither checksum is sent, TLS and this hash protect parts, but not all stores verify the hash.
//
// If a store answers 501 to If-None-Match, this package checks that the name is still free, and repeats the request
// without the header. An object that another writer creates between these two requests is overwritten. A store that
// ignores the header always overwrites what another writer creates after Create.
// If a store looks for the name before it takes it, as SeaweedFS does, two writers that complete at the same moment may
// both succeed.
//
// Google verifies an object only when it is complete. So damage to a part of a large file ends its upload with
// [place.ErrIntegrity]; to other stores, the part is sent again.
//
// If a store has made an object that is damaged or has another size, the object is removed. An object that another
// writer has made under that name since is left. On S3, removing takes the permission s3:DeleteObject; the error says
// if it is missing. The object that Replace has replaced is lost then.
//
// # Unfinished uploads
//
// Discard aborts an upload, and so does the end of the context. If the process is killed or cannot reach the store, the
// parts of the upload remain in S3. They have no name but cost money.
//
// When a new upload of several parts begins, unfinished uploads of the same key are aborted if they were begun, and
// received their last part, more than Config.Abandoned ago by the clock of the store, whoever began them. The store is
// asked for those of all keys of the place at once, and again when Config.Abandoned is over. So uploads of
// other keys, and of processes that are still sending, continue. For keys that are never written again, set a lifecycle
// rule of the bucket (AbortIncompleteMultipartUpload).
//
// On Google and Azure, what a killed process leaves has no name and vanishes after a week. On Google, an upload that
// takes longer than a week fails.
//
// # Failures
//
// A request is repeated if its connection breaks, if its answer is short or damaged, or if the store asks for that
// (500, 503 SlowDown). The pauses are random and grow to 5 seconds. If the request has failed for Config.Timeout, it
// fails with [place.ErrUnreachable]. For a read, this time begins anew when a request has received at least 64
// KiB. A connection on which nothing moves for half of Config.Timeout is closed. A store that could not be reached is
// asked to end the upload for 5 seconds more at most.
//
// A listing that does not go on, a directory of which one call of ReadDir would return more than 1,048,576 entries, and
// an answer of more than 16 MiB that is no range of an object, fail with [place.ErrIntegrity].
//
// Errors wrap [place.ErrIntegrity] if the store sends or keeps other data than it should, and [place.ErrRefused] if it
// refuses a request. They never contain the URL of a request, which may be signed.
package bucket
