/** Office hours for the modules of the server. The calculation is in `common/`, because the editor shows the same answers. */
export * from '../../common/office-hours.ts'
