/** Where media and uploads are stored: the bucket of the settings, or a folder of the data directory. */
import { join } from 'node:path'
import type { Store } from '../lib/store.ts'
import { createFolderStore } from '../lib/store-folder.ts'
import { createS3Store, type S3Bucket } from '../lib/store-s3.ts'

export function createMediaStore({ dataDir, mediaS3 }: { dataDir: string; mediaS3: S3Bucket | undefined }): Store {
  return mediaS3 ? createS3Store(mediaS3) : createFolderStore(join(dataDir, 'media'))
}
