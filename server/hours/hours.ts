/** Office hours for the modules of the server. The calculation is in `common/`, because the editor shows the same answers. */
export {
  addOfficeMs,
  type Holiday,
  isOpen,
  mergePeriods,
  nextClosing,
  nextOpening,
  officeMs,
  type Period,
  type Schedule,
} from '../../common/office-hours.ts'
